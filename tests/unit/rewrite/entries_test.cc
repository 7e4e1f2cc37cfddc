// Which functions of entries.S are rewritten, and why others are not.
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "rewrite/analysis.h"

extern "C" {
extern const char entry_ordinary[], entry_marked[], entry_far_address[], entry_short_branch[],
    entry_padded[], target_branch[], target_table[], target_lea[], target_lea_user[],
    target_relocation[], refused_loop[], refused_counted_branch[], refused_indirect_call[],
    tail_at_once[], tail_later[], refused_flags[], refused_bytes[], refused_crowded[],
    refused_neighbour[], refused_frame[], target_distances[], target_distances_from_start[],
    target_table_in_text[], refused_loop_by_table[], refused_loop_by_addresses[], refused_adc[],
    refused_carry[], refused_carry_behind_jump[], refused_carry_behind_jump_back[],
    refused_slot_behind_jump[], refused_slot_behind_jump_back[], entry_own_behind_jump_back[],
    keeps_memory[], kept_memory_behind_jump[], keeps_memory_in_loop[], reads_memory_behind_call[],
    reads_memory_in_loop[], probed_first[], probed_second[], probed_before_move[],
    entry_probed_later[], entry_own_carry[], refused_zeros[], framed_distances[], framed_table[],
    unframed_distances[], unframed_elsewhere[], known_elsewhere[], unlisted[], called_unlisted[],
    unknown_frame[], known_by_data[], jumps_by_return[], jumps_by_thunk[], jump_thunk[],
    entry_vector[], entry_vector_first[], jumps_to_named[], named_by_jump[], named_by_branch[],
    named_jump_by_pointer[], target_behind_bytes[], target_hidden[], entry_trap[], entry_prefixed[],
    refused_short_address[], table_leads_to_part[], words_lead_to_part[], jumps_with_red_zone[],
    jumps_behind_frame[], holds_distances[], keeps_flags[], keeps_flags_first[],
    keeps_flags_inside[], kept_by_its_caller[], keeps_flags_for_jump[], compares_and_jumps[],
    kept_behind_jump[], compares_and_calls[], kept_behind_call[], entry_writes_flags[],
    entry_before_abort[], target_offset[], falls_into_part[], refused_breakpoint[],
    refused_debug_trap[], refused_apx[], refused_seventh_map[], called_with_prefix[],
    calls_with_prefix[], jumps_with_prefix[], entry_listed[];
extern const std::uint64_t nameless_ranges[];
extern const char named_pointed_part[] asm("named_pointed_part.cold");
extern const void* const entry_pointers[];
}

namespace fbleprof::rewrite {
namespace {

using plan::Reason;

// Where the program lies, less where its file says.
std::uint64_t load_bias() {
  std::uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        *static_cast<std::uint64_t*>(to) = object->dlpi_addr;
        return 1;  // the program is the first
      },
      &bias);
  return bias;
}

// The plan of this program, or of another file.
class ReadPlan {
 public:
  explicit ReadPlan(const char* file = "/proc/self/exe") {
    const std::string bytes = analyse(file).plan;
    plan::Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const char* at = bytes.data() + sizeof header;
    std::vector<plan::Trampoline> numbered;
    for (std::uint32_t i = 0; i < header.trampolines; ++i, at += sizeof(plan::Trampoline)) {
      plan::Trampoline each;
      std::memcpy(&each, at, sizeof each);
      numbered.push_back(each);
      if (each.jumps_from == 0) {
        trampolines_[each.function] = each;
      } else {
        tail_trampolines_[{each.function, each.jumps_from}] = each;
      }
    }
    for (std::uint32_t i = 0; i < header.sites; ++i, at += sizeof(plan::Site)) {
      plan::Site each;
      std::memcpy(&each, at, sizeof each);
      const plan::Trampoline& to = numbered.at(each.trampoline);
      sites_[each.at] = to.function;
      if (to.jumps_from != 0) ++tail_sites_[{to.function, to.jumps_from}];
    }
    for (std::uint32_t i = 0; i < header.refusals; ++i, at += sizeof(plan::Refusal)) {
      plan::Refusal each;
      std::memcpy(&each, at, sizeof each);
      reasons_[each.function] = each.reason;
    }
  }
  static const ReadPlan& own() {
    static const ReadPlan plan;
    return plan;
  }
  const plan::Trampoline* trampoline(const char* function) const {
    const auto found = trampolines_.find(address(function));
    return found == trampolines_.end() ? nullptr : &found->second;
  }
  // The trampoline for tail calls.
  const plan::Trampoline* tail_trampoline(const char* function, const char* from) const {
    const auto found = tail_trampolines_.find({address(function), address(from)});
    return found == tail_trampolines_.end() ? nullptr : &found->second;
  }
  // The number of sites that lead to trampolines for tail calls of the function.
  int tail_sites(const char* function, const char* from) const {
    const auto found = tail_sites_.find({address(function), address(from)});
    return found == tail_sites_.end() ? 0 : found->second;
  }
  // Whether the five bytes there are made to lead to the function's trampoline.
  bool is_site(std::uint64_t at, const char* function) const {
    const auto found = sites_.find(at);
    return found != sites_.end() && found->second == address(function);
  }
  bool is_entry(const char* function) const { return is_entry(address(function)); }
  bool is_entry(std::uint64_t address) const {
    const auto found = trampolines_.find(address);
    return found != trampolines_.end() && found->second.window != 0;
  }
  Reason reason(const char* function) const { return reason(address(function)); }
  Reason reason(std::uint64_t address) const {
    const auto found = reasons_.find(address);
    return found == reasons_.end() ? Reason::kNone : found->second;
  }
  // Out of line: an address computed in the code would be one that the code names.
  [[gnu::noinline]] static std::uint64_t address(const char* function) {
    asm("" : "+r"(function));
    return reinterpret_cast<std::uint64_t>(function) - load_bias();
  }

 private:
  using Pair = std::pair<std::uint64_t, std::uint64_t>;  // called, jumps

  std::map<std::uint64_t, plan::Trampoline> trampolines_;
  std::map<Pair, plan::Trampoline> tail_trampolines_;
  std::map<Pair, int> tail_sites_;
  std::map<std::uint64_t, std::uint64_t> sites_;
  std::map<std::uint64_t, Reason> reasons_;
};

TEST(Entries, OrdinaryStartsAreOverwritten) {
  ASSERT_NE(entry_pointers[0], nullptr);
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {entry_ordinary, entry_far_address, entry_short_branch, entry_padded,
                               target_lea_user, entry_own_carry, entry_own_behind_jump_back}) {
    EXPECT_TRUE(plan.is_entry(function)) << plan::explain(plan.reason(function));
    EXPECT_EQ(plan.reason(function), Reason::kNone);
  }
}

TEST(Entries, EndbrStaysWhereIndirectBranchesArrive) {
  const ReadPlan& plan = ReadPlan::own();
  ASSERT_TRUE(plan.is_entry(entry_marked)) << plan::explain(plan.reason(entry_marked));
  EXPECT_EQ(plan.trampoline(entry_marked)->window, ReadPlan::address(entry_marked) + 4);
}

TEST(Entries, AListOfRoomForHooksLeadsNoControlThere) {
  const ReadPlan& plan = ReadPlan::own();
  ASSERT_TRUE(plan.is_entry(entry_listed)) << plan::explain(plan.reason(entry_listed));
  EXPECT_EQ(plan.trampoline(entry_listed)->window, ReadPlan::address(entry_listed) + 4);
}

TEST(Entries, InstructionsThatTheLibraryDoesNotKnowAreReadByTheirShape) {
  const ReadPlan& plan = ReadPlan::own();
  EXPECT_TRUE(plan.is_entry(entry_vector)) << plan::explain(plan.reason(entry_vector));
  ASSERT_TRUE(plan.is_entry(entry_vector_first)) << plan::explain(plan.reason(entry_vector_first));
  const plan::Trampoline& moved = *plan.trampoline(entry_vector_first);
  EXPECT_EQ(moved.fixups[0].kind, plan::FixupKind::kAddress);
}

TEST(Entries, InstructionsThatTheLibraryReadsWronglyAreRead) {
  const ReadPlan& plan = ReadPlan::own();
  EXPECT_TRUE(plan.is_entry(entry_trap)) << plan::explain(plan.reason(entry_trap));
  ASSERT_TRUE(plan.is_entry(entry_prefixed)) << plan::explain(plan.reason(entry_prefixed));
  const plan::Trampoline& moved = *plan.trampoline(entry_prefixed);
  EXPECT_EQ(moved.code[3], 0x0f);
  EXPECT_EQ(moved.code[4], 0x84);  // je, in its long form
  EXPECT_FALSE(plan.is_entry(refused_short_address));
  EXPECT_EQ(plan.reason(refused_apx), Reason::kUndecodable);
  EXPECT_EQ(plan.reason(refused_seventh_map), Reason::kUndecodable);
}

// A hook at the start of a part would destroy what the function keeps below its stack pointer.
TEST(Entries, RangesWithoutASymbolAreFunctionsOnlyIfTheyCannotBePartsWithARedZone) {
  const ReadPlan& plan = ReadPlan::own();
  const auto reason_of = [&](const char* function, int which) {
    const std::uint64_t address = ReadPlan::address(function) + nameless_ranges[which];
    EXPECT_EQ(plan.is_entry(address), plan.reason(address) == Reason::kNone);
    return plan.reason(address);
  };
  EXPECT_EQ(reason_of(table_leads_to_part, 0), Reason::kPart);
  EXPECT_EQ(reason_of(words_lead_to_part, 1), Reason::kPart);
  EXPECT_EQ(reason_of(jumps_with_red_zone, 2), Reason::kPart);
  EXPECT_EQ(reason_of(jumps_behind_frame, 3), Reason::kNone);
  EXPECT_EQ(reason_of(falls_into_part, 5), Reason::kPart);
}

TEST(Entries, FunctionsInTablesOfDistancesAreCountedPartly) {
  const ReadPlan& plan = ReadPlan::own();
  EXPECT_EQ(plan.reason(ReadPlan::address(holds_distances) + nameless_ranges[4]), Reason::kPartly);
}

TEST(Entries, CodeBehindBytesThatAreNoneIsRead) {
  const ReadPlan& plan = ReadPlan::own();
  EXPECT_FALSE(plan.is_entry(target_behind_bytes));
  EXPECT_FALSE(plan.is_entry(target_hidden));
}

TEST(Entries, ThunksAgainstSpeculationAreNoFunctions) {
  EXPECT_EQ(ReadPlan::own().reason(jump_thunk), Reason::kStub);
}

TEST(Entries, SymbolsTellFunctionsFromPartsAndStubs) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function :
       {jumps_to_named, named_by_jump, named_by_branch, named_jump_by_pointer}) {
    EXPECT_TRUE(plan.trampoline(function)) << plan::explain(plan.reason(function));
  }
  EXPECT_EQ(plan.reason(named_pointed_part), Reason::kPart);
}

TEST(Entries, FunctionsThatOnlyReturnAreLeaves) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {entry_ordinary, entry_marked, entry_short_branch, entry_padded}) {
    EXPECT_TRUE(plan.trampoline(function)->is_leaf);
  }
  for (const char* function : {tail_at_once, tail_later}) {
    EXPECT_FALSE(plan.trampoline(function)->is_leaf);
  }
}

TEST(Entries, TailCallsHaveTrampolinesOfTheirOwn) {
  const ReadPlan& plan = ReadPlan::own();
  ASSERT_TRUE(plan.is_entry(tail_at_once)) << plan::explain(plan.reason(tail_at_once));
  ASSERT_TRUE(plan.is_entry(tail_later)) << plan::explain(plan.reason(tail_later));
  ASSERT_NE(plan.tail_trampoline(entry_ordinary, tail_at_once), nullptr);
  ASSERT_NE(plan.tail_trampoline(entry_marked, tail_later), nullptr);
  EXPECT_EQ(plan.tail_trampoline(entry_ordinary, tail_later), nullptr);
  // The jump among the first bytes leads there from its new place.
  EXPECT_EQ(plan.trampoline(tail_at_once)->fixups[0].kind, plan::FixupKind::kTrampoline);
  EXPECT_EQ(plan.tail_sites(entry_ordinary, tail_at_once), 0);
  EXPECT_EQ(plan.tail_sites(entry_marked, tail_later), 1);
}

TEST(Entries, CallsBehindAPrefixAreSites) {
  const ReadPlan& plan = ReadPlan::own();
  ASSERT_TRUE(plan.trampoline(called_with_prefix));
  EXPECT_FALSE(plan.is_entry(called_with_prefix));
  EXPECT_EQ(plan.reason(called_with_prefix), Reason::kPartly);  // this test holds its address
  constexpr std::uint64_t kBefore = 7;
  EXPECT_TRUE(plan.is_site(ReadPlan::address(calls_with_prefix) + kBefore + 1, called_with_prefix));
  EXPECT_EQ(plan.tail_sites(called_with_prefix, jumps_with_prefix), 1);
}

TEST(Entries, WindowThatSomethingLeadsIntoStays) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function :
       {target_branch, target_table, target_lea, target_relocation, target_distances,
        target_distances_from_start, target_table_in_text, target_offset}) {
    EXPECT_FALSE(plan.is_entry(function)) << plan::explain(plan.reason(function));
    EXPECT_NE(plan.reason(function), Reason::kNone);
  }
}

TEST(Entries, TheFrameTellsWhetherATableCanLeadThere) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {framed_distances, framed_table}) {
    EXPECT_TRUE(plan.is_entry(function)) << plan::explain(plan.reason(function));
  }
  for (const char* function : {unframed_distances, unframed_elsewhere, known_elsewhere,
                               unknown_frame, known_by_data, jumps_by_return, jumps_by_thunk}) {
    EXPECT_FALSE(plan.is_entry(function));
    EXPECT_EQ(plan.reason(function), Reason::kIndirectOnly);
  }
}

TEST(Entries, WindowThatAWordOfAnotherFileLeadsIntoStays) {
  constexpr std::uint64_t kPointedInto = 0x500000, kNotPointedInto = kPointedInto + 32;
  for (const char* file : {REWRITE_LIBRARY, REWRITE_FIXED}) {
    const ReadPlan plan(file);
    EXPECT_TRUE(plan.is_entry(kNotPointedInto)) << file;
    EXPECT_FALSE(plan.is_entry(kPointedInto)) << file;
  }
  EXPECT_FALSE(ReadPlan(REWRITE_FIXED).is_entry(kPointedInto + 64)) << "a packed word";
}

TEST(Entries, WhatTheUnwindTableDoesNotListIsNamed) {
  EXPECT_EQ(ReadPlan::own().reason(unlisted), Reason::kUnlisted);
  EXPECT_EQ(ReadPlan::own().reason(called_unlisted), Reason::kUnlisted);
}

TEST(Entries, DoubtfulStartsStay) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function :
       {refused_loop, refused_counted_branch, refused_indirect_call, refused_flags, refused_bytes,
        refused_crowded, refused_frame, refused_breakpoint, refused_debug_trap}) {
    EXPECT_FALSE(plan.is_entry(function)) << plan::explain(plan.reason(function));
  }
  EXPECT_FALSE(plan.is_entry(refused_zeros));
  EXPECT_EQ(plan.reason(refused_flags), Reason::kOddEntry);
  EXPECT_EQ(plan.reason(refused_bytes), Reason::kUndecodable);
  EXPECT_EQ(plan.reason(refused_frame), Reason::kNotAnEntry);
}

// The kernel runs the file's instruction at a breakpoint of its own, and continues behind it.
TEST(Entries, PlacesOfProbesStay) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {probed_first, probed_second, probed_before_move}) {
    EXPECT_FALSE(plan.is_entry(function));
    EXPECT_EQ(plan.reason(function), Reason::kIndirectOnly);
  }
  EXPECT_TRUE(plan.is_entry(entry_probed_later)) << plan::explain(plan.reason(entry_probed_later));
}

TEST(Entries, LoopsToTheStartByATableAreNoCalls) {
  const ReadPlan& plan = ReadPlan::own();
  EXPECT_FALSE(plan.is_entry(refused_loop_by_table));
  EXPECT_FALSE(plan.is_entry(refused_loop_by_addresses));
}

TEST(Entries, EachFlagIsTheCallersUntilItIsWritten) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function :
       {refused_adc, refused_carry, refused_carry_behind_jump, refused_carry_behind_jump_back}) {
    EXPECT_EQ(plan.reason(function), Reason::kOddEntry);
  }
}

TEST(Entries, MemoryBelowTheStackPointerIsTheCallersUntilItIsWritten) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {refused_slot_behind_jump, refused_slot_behind_jump_back}) {
    EXPECT_EQ(plan.reason(function), Reason::kOddEntry);
  }
}

TEST(Entries, FunctionsThatMustLeaveTheirCallersMemoryHaveNoHook) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function : {keeps_memory, kept_memory_behind_jump, keeps_memory_in_loop}) {
    EXPECT_EQ(plan.reason(function), Reason::kKeepsMemory);
    EXPECT_FALSE(plan.trampoline(function));
  }
  for (const char* function : {reads_memory_behind_call, reads_memory_in_loop}) {
    EXPECT_TRUE(plan.is_entry(function)) << plan::explain(plan.reason(function));
  }
}

// As outliners make them.
TEST(Entries, FunctionsBehindWhichFlagsAreReadMustWriteThem) {
  const ReadPlan& plan = ReadPlan::own();
  for (const char* function :
       {keeps_flags, keeps_flags_first, keeps_flags_inside, kept_by_its_caller,
        keeps_flags_for_jump, kept_behind_jump, kept_behind_call}) {
    EXPECT_EQ(plan.reason(function), Reason::kKeepsFlags);
    EXPECT_FALSE(plan.trampoline(function));
  }
  for (const char* function :
       {entry_writes_flags, entry_before_abort, compares_and_jumps, compares_and_calls}) {
    EXPECT_TRUE(plan.is_entry(function)) << plan::explain(plan.reason(function));
  }
}

TEST(Entries, NoWindowsOverlap) {
  const ReadPlan& plan = ReadPlan::own();
  // It follows a function of one byte.
  ASSERT_TRUE(plan.is_entry(refused_neighbour));
  EXPECT_EQ(plan.trampoline(refused_neighbour)->window, ReadPlan::address(refused_crowded) + 1);
}

TEST(Entries, FilesThatAreNoCodeHaveEmptyPlans) {
  for (const char* file : {"/dev/null", "/etc/passwd"}) {
    const Analysis analysis = analyse(file);
    EXPECT_NE(analysis.error, "");
    EXPECT_GE(analysis.plan.size(), sizeof(plan::Header));
  }
}

TEST(Entries, FilesThatCannotBeReadHaveNone) {
  const Analysis analysis = analyse("/nowhere");
  EXPECT_NE(analysis.error, "");
  EXPECT_EQ(analysis.plan, "") << "it would stay when they can be read";
}

TEST(Reasons, EachHasAText) {
  for (int i = 0; i < static_cast<int>(Reason::kReasons); ++i) {
    EXPECT_STRNE(plan::explain(static_cast<Reason>(i)), "unknown") << i;
  }
  EXPECT_STREQ(plan::explain(Reason::kReasons), "unknown") << "of a newer version";
}

// Damage costs functions, but what is planned is in the text, and the plan is whole.
TEST(Entries, ADamagedUnwindTableIsReadWithinItsBytes) {
  std::ifstream in(REWRITE_LIBRARY, std::ios::binary);
  const std::string sound{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Elf64_Ehdr header;
  std::memcpy(&header, sound.data(), sizeof header);
  Elf64_Phdr table{}, text{};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, sound.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_GNU_EH_FRAME) table = part;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) text = part;
  }
  ASSERT_NE(table.p_filesz, 0u);
  constexpr std::size_t kRecords = 0x48;  // behind the header: one CIE, one FDE and the end
  const std::string path = testing::TempDir() + "/fbleprof-damaged.so." + std::to_string(getpid());
  int fewer = 0;
  for (std::size_t at = table.p_offset; at < table.p_offset + table.p_filesz + kRecords; ++at) {
    for (const int value : {0x00, 0x01, 0x02, 0x08, 0x10, 0x1b, 0x40, 0x7f, 0x80, 0xc0, 0xff}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(value);
      std::ofstream(path, std::ios::binary) << bytes;
      const std::string plan = analyse(path).plan;
      plan::Header head;
      ASSERT_GE(plan.size(), sizeof head);
      std::memcpy(&head, plan.data(), sizeof head);
      ASSERT_EQ(plan.size(), sizeof head + head.trampolines * sizeof(plan::Trampoline) +
                                 head.sites * sizeof(plan::Site) +
                                 head.refusals * sizeof(plan::Refusal));
      fewer += head.trampolines + head.refusals == 0;
      for (std::uint32_t i = 0; i < head.trampolines; ++i) {
        plan::Trampoline each;
        std::memcpy(&each, plan.data() + sizeof head + i * sizeof each, sizeof each);
        EXPECT_GE(each.function, text.p_vaddr) << at << ": " << value;
        EXPECT_LT(each.function, text.p_vaddr + text.p_memsz) << at << ": " << value;
      }
    }
  }
  EXPECT_GT(fewer, 10);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace fbleprof::rewrite
