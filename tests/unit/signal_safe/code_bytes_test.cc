// What bytes of code mean: NOPs, rooms for sites, stubs, calls, jumps, and places in trampolines.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "arch/call_instruction.h"
#include "arch/hook_site.h"
#include "arch/trampoline.h"
#include "signal_safe/trampolines.h"

namespace fbleprof {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::uint64_t nop_of(const Bytes& bytes) {
  return arch::nop_bytes(bytes.data(), bytes.data() + bytes.size());
}

TEST(CodeBytes, NopsOfEachLength) {
  EXPECT_EQ(nop_of({0x90}), 1u);
  EXPECT_EQ(nop_of({0x66, 0x90}), 2u);
  EXPECT_EQ(nop_of({0x2e, 0x66, 0x90}), 3u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x00}), 3u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0xc0}), 3u) << "a register";
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0xc4}), 3u) << "a register has no index";
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x40, 0}), 4u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x04, 0}), 4u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x44, 0, 0}), 5u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x05, 0, 0, 0, 0}), 7u) << "relative to the instruction";
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x80, 0, 0, 0, 0}), 7u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}), 8u);
  for (std::uint64_t count = 1; count <= 9; ++count) {
    Bytes written(count);
    arch::write_nops(written.data(), count);
    EXPECT_EQ(nop_of(written), count);
    written.pop_back();
    EXPECT_NE(nop_of(written), count) << "it is cut";
  }
}

TEST(CodeBytes, WhatIsNoNop) {
  EXPECT_EQ(nop_of({}), 0u);
  EXPECT_EQ(nop_of({0xc3}), 0u);
  EXPECT_EQ(nop_of({0x0f, 0x0b, 0x00}), 0u);
  EXPECT_EQ(nop_of({0x0f, 0x1f}), 0u);
  EXPECT_EQ(nop_of({0x0f, 0x1f, 0x48, 0}), 0u) << "an operation that is not defined";
  EXPECT_EQ(nop_of(Bytes(15, 0x66)), 0u) << "no instruction is longer than 15 bytes";
  Bytes long_one(13, 0x66);
  for (const std::uint8_t byte : {0x0f, 0x1f, 0x40, 0x00}) long_one.push_back(byte);
  EXPECT_EQ(nop_of(long_one), 0u);
}

TEST(CodeBytes, RoomsForSites) {
  const auto room = [](const Bytes& bytes) {
    return arch::room_for_site(bytes.data(), bytes.data() + bytes.size());
  };
  EXPECT_EQ(room({0x90, 0x90, 0x90, 0x90, 0x90}), 5u);
  EXPECT_EQ(room({0x0f, 0x1f, 0x44, 0, 0}), 5u);
  EXPECT_EQ(room({0x90, 0x0f, 0x1f, 0x44, 0, 0}), 6u);
  EXPECT_EQ(room({0x90, 0x90, 0x90, 0x90}), 0u);
  EXPECT_EQ(room({0x90, 0x90, 0xc3, 0x90, 0x90}), 0u);
  const auto sled = [](const Bytes& bytes) {
    return arch::room_in_sled(bytes.data(), bytes.data() + bytes.size());
  };
  Bytes good = {0xeb, 9, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
  EXPECT_EQ(sled(good), 11u);
  EXPECT_EQ(sled(Bytes(good.begin(), good.end() - 1)), 0u);
  for (const std::size_t at : {0u, 1u, 2u}) {
    Bytes other = good;
    other[at] ^= 1;
    EXPECT_EQ(sled(other), 0u) << at;
  }
}

TEST(CodeBytes, SitesNameTheirHook) {
  alignas(8) std::uint8_t code[32] = {};
  const auto here = reinterpret_cast<std::uint64_t>(code);
  const std::uint64_t hook = here + 4000;
  ASSERT_TRUE(arch::make_site(code, 8, hook, false));
  EXPECT_EQ(arch::named_by_site(code), hook);
  EXPECT_EQ(code[0], arch::kCallOff);
  EXPECT_TRUE(arch::switch_site(code, true));
  EXPECT_FALSE(arch::switch_site(code, true)) << "it is on";
  EXPECT_EQ(code[0], arch::kCall);
  EXPECT_EQ(arch::named_by_site(code), hook);
  EXPECT_EQ(nop_of(Bytes(code + 5, code + 8)), 3u) << "the rest of the room";
  EXPECT_FALSE(arch::make_site(code, 5, here ^ std::uint64_t{1} << 40, true)) << "it is too far";
  for (const std::uint8_t operation : {arch::kCallSlot, arch::kCallSlotOff}) {
    const std::uint8_t slot[] = {operation, arch::kSlotMode, 0x10, 0, 0, 0};
    EXPECT_EQ(arch::named_by_site(slot), reinterpret_cast<std::uint64_t>(slot) + 6 + 0x10);
  }
  std::uint8_t slot[] = {arch::kCallSlot, arch::kSlotMode, 0, 0, 0, 0};
  EXPECT_TRUE(arch::switch_site(slot, false));
  EXPECT_EQ(slot[0], arch::kCallSlotOff);
  EXPECT_TRUE(arch::switch_site(slot, true));
  const std::uint8_t other_mode[] = {arch::kCallSlot, 0x14, 0, 0, 0, 0}, nothing[6] = {0xc3};
  EXPECT_EQ(arch::named_by_site(other_mode), 0u);
  EXPECT_EQ(arch::named_by_site(nothing), 0u);
}

TEST(CodeBytes, StubsOfEachKind) {
  const auto slot = [](Bytes bytes) {
    bytes.resize(16);
    const std::uint64_t found = arch::slot_of_stub(bytes.data());
    return found != 0 ? found - reinterpret_cast<std::uint64_t>(bytes.data()) : 0;
  };
  EXPECT_EQ(slot({0xff, 0x25, 0x20, 0, 0, 0}), 0x26u);
  EXPECT_EQ(slot({0xf2, 0xff, 0x25, 0x20, 0, 0, 0}), 0x27u);
  EXPECT_EQ(slot({0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x20, 0, 0, 0}), 0x2au);
  EXPECT_EQ(slot({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x20, 0, 0, 0}), 0x2bu);
  EXPECT_EQ(slot({0xff, 0x15, 0x20, 0, 0, 0}), 0u) << "a call";
  EXPECT_EQ(slot({0xe9, 0x25, 0, 0, 0}), 0u);
}

TEST(CodeBytes, CallsThroughRegistersAndMemory) {
  const auto bytes = [](Bytes code) {
    code.resize(3);
    return arch::indirect_call_bytes(code.data());
  };
  EXPECT_EQ(bytes({0xff, 0xd0}), 2u);        // call *%rax
  EXPECT_EQ(bytes({0xff, 0x10}), 2u);        // call *(%rax)
  EXPECT_EQ(bytes({0xff, 0x50}), 3u);        // call *8(%rax)
  EXPECT_EQ(bytes({0xff, 0x90}), 6u);        // call *800(%rax)
  EXPECT_EQ(bytes({0xff, 0x15}), 6u);        // call *slot(%rip)
  EXPECT_EQ(bytes({0xff, 0x14, 0xc8}), 3u);  // call *(%rax,%rcx,8)
  EXPECT_EQ(bytes({0xff, 0x14, 0xc5}), 7u);  // call *table(,%rax,8)
  EXPECT_EQ(bytes({0xff, 0x54, 0xc8}), 4u);  // call *8(%rax,%rcx,8)
  EXPECT_EQ(bytes({0xff, 0xe0}), 0u);        // jmp *%rax
  EXPECT_EQ(bytes({0x0f, 0xd0}), 0u);
  const auto ends = [](const Bytes& code) {
    std::uint8_t end[arch::kLongestCall] = {};
    std::copy(code.begin(), code.end(), end + arch::kLongestCall - code.size());
    return arch::is_call_at_end(end);
  };
  EXPECT_TRUE(ends({0xe8, 1, 2, 3, 4}));
  EXPECT_TRUE(ends({0xff, 0xd3}));
  EXPECT_TRUE(ends({0xff, 0x10}));
  EXPECT_FALSE(ends({0xff, 0x14})) << "an index follows";
  EXPECT_FALSE(ends({0xff, 0x15})) << "an address follows";
  EXPECT_TRUE(ends({0xff, 0x14, 0xc5, 0, 0, 0, 0}));
  EXPECT_TRUE(ends({0xff, 0x50, 8}));
  EXPECT_FALSE(ends({0xff, 0x50}));
  EXPECT_FALSE(ends({0xff, 0xe0}));
  EXPECT_FALSE(ends({0xe9, 1, 2, 3, 4}));
}

TEST(CodeBytes, JumpsIntoOtherCode) {
  std::uint8_t code[64];
  const auto here = reinterpret_cast<std::uint64_t>(code);
  const auto jumps = [&](const Bytes& at_start, std::uint32_t bytes) {
    std::memset(code, 0x90, sizeof code);
    std::copy(at_start.begin(), at_start.end(), code);
    return arch::jumps_into(here, bytes, here + 40, 8);
  };
  EXPECT_TRUE(jumps({0xe9, 35, 0, 0, 0}, 16));
  EXPECT_TRUE(jumps({0x90, 0xe9, 41, 0, 0, 0}, 16));
  EXPECT_FALSE(jumps({0xe9, 34, 0, 0, 0}, 16)) << "before it";
  EXPECT_FALSE(jumps({0xe9, 43, 0, 0, 0}, 16)) << "behind it";
  EXPECT_FALSE(jumps({0xe8, 35, 0, 0, 0}, 16)) << "a call";
  EXPECT_TRUE(jumps({0x0f, 0x84, 34, 0, 0, 0}, 16));
  EXPECT_FALSE(jumps({0x0f, 0x84, 34, 0, 0, 0}, 5)) << "cut";
  EXPECT_FALSE(jumps({0x0f, 0x1f, 34, 0, 0, 0}, 16)) << "no jump";
  EXPECT_TRUE(jumps({0x90, 0xeb, 37}, 3)) << "short, the last instruction";
  EXPECT_FALSE(jumps({0x90, 0xeb, 38}, 16)) << "short, but not to the beginning";
  EXPECT_FALSE(jumps({0x90, 0xeb}, 2)) << "cut";
  EXPECT_EQ(arch::target_of_direct(Bytes({0xeb, 0, 0, 0, 0}).data()), 0u);
  const std::uint8_t call[] = {0xe8, 3, 0, 0, 0}, jump[] = {0xe9, 3, 0, 0, 0};
  EXPECT_EQ(arch::target_of_direct(call), reinterpret_cast<std::uint64_t>(call) + 8);
  EXPECT_EQ(arch::target_of_direct(jump), reinterpret_cast<std::uint64_t>(jump) + 8);
}

class TrampolinePlaces : public testing::Test {
 protected:
  static constexpr std::uint64_t kSlots = 4;  // of other code, and three functions
  TrampolinePlaces() : slots_((kSlots + 1) * arch::kTrampolineBytes / sizeof(std::uint64_t)) {
    const std::uint64_t begin = slot(0);
    EXPECT_TRUE(all_->add({begin, slot(1), slot(kSlots)}));
    window_.address = 0x5000;
    window_.window = 4;
    window_.branch_ends[0] = 9;
    none_.address = 0x6000;
    none_.window = arch::RewrittenFunction::kNoWindow;
    set(1, &window_), set(2, &none_);
  }
  std::uint64_t slot(std::uint64_t number) const {
    return reinterpret_cast<std::uint64_t>(slots_.data()) + number * arch::kTrampolineBytes;
  }
  void set(std::uint64_t number, const arch::RewrittenFunction* function) {
    std::memcpy(reinterpret_cast<void*>(slot(number)), &function, sizeof function);
  }
  // Code of the trampoline of window_.
  std::uint64_t code(std::uint64_t offset) const {
    return slot(1) + arch::kTrampolineCode + offset;
  }

  std::vector<std::uint64_t> slots_;
  arch::RewrittenFunction window_{}, none_{};
  std::unique_ptr<signal_safe::Trampolines> all_ = std::make_unique<signal_safe::Trampolines>();
};

TEST_F(TrampolinePlaces, TellTheirFunction) {
  EXPECT_TRUE(all_->contains(slot(0)));
  EXPECT_FALSE(all_->contains(slot(0) - 1));
  EXPECT_FALSE(all_->contains(slot(kSlots)));
  EXPECT_EQ(all_->function_at(slot(0) + 5), 0u) << "a slot of other code";
  EXPECT_EQ(all_->function_at(slot(1) + 5), 0x5000u);
  EXPECT_EQ(all_->function_at(slot(2) + 5), 0x6000u);
  EXPECT_EQ(all_->function_at(slot(3) + 5), 0u) << "nothing is there";
  EXPECT_EQ(all_->function_at(slot(kSlots)), 0u);
  EXPECT_TRUE(all_->calls_hook_at(slot(1) + arch::kTrampolineEntry));
  EXPECT_FALSE(all_->calls_hook_at(slot(1) + arch::kTrampolineEntry + 1));
  EXPECT_FALSE(all_->calls_hook_at(slot(3) + arch::kTrampolineEntry));
}

TEST_F(TrampolinePlaces, TellWhereADisplacedInstructionStood) {
  EXPECT_EQ(all_->origin_of(code(0)), 0x5004u);
  EXPECT_EQ(all_->origin_of(code(3)), 0x5007u);
  EXPECT_EQ(all_->origin_of(code(9)), 0x5004u + 9 - arch::kBranchGrowth)
      << "behind a longer branch";
  EXPECT_EQ(all_->origin_of(slot(1)), 0u) << "not the code";
  EXPECT_EQ(all_->origin_of(slot(1) + arch::kTrampolineWord), 0u);
  EXPECT_EQ(all_->origin_of(slot(0) + arch::kTrampolineCode), 0u);
  EXPECT_EQ(all_->origin_of(slot(2) + arch::kTrampolineCode), 0u) << "it has no window";
  EXPECT_EQ(all_->origin_of(slot(3) + arch::kTrampolineCode), 0u);
  EXPECT_EQ(all_->origin_of(slot(kSlots) + arch::kTrampolineCode), 0u);
  // And back.
  EXPECT_EQ(all_->place_of(code(0), 0x5004), code(0));
  EXPECT_EQ(all_->place_of(code(0), 0x5007), code(3));
  window_.branch_ends[0] = 6;
  EXPECT_EQ(all_->place_of(code(0), 0x5006), code(6)) << "behind a branch that was two bytes long";
  EXPECT_EQ(all_->place_of(code(0), 0x5009), 0x5009u) << "outside of the window";
}

// A function begins with four bytes of another instruction and the call. Both are displaced.
TEST_F(TrampolinePlaces, TellWhatADisplacedCallNames) {
  const std::uint64_t begin = slot(kSlots), site = begin + 9, callee = begin + 40;
  auto* text = reinterpret_cast<std::uint8_t*>(begin);
  arch::write_jump(text, slot(1) + arch::kTrampolineEntry);
  window_ = {.address = begin, .window = 0};
  auto* displaced = reinterpret_cast<std::uint8_t*>(code(4));
  auto* word = reinterpret_cast<std::uint8_t*>(slot(1) + arch::kTrampolineWord);
  std::memcpy(word, &site, sizeof site);
  displaced[0] = 0xff, displaced[1] = 0x35;  // push
  arch::write_distance(displaced + 2, slot(1) + arch::kTrampolineWord);
  arch::write_jump(displaced + 6, callee);
  std::uint64_t target = 1;
  const auto is_overwritten = [&](std::uint64_t from, std::uint64_t to) {
    target = 1;
    return all_->is_overwritten(from, to, target);
  };
  EXPECT_EQ(arch::direct_call_target(site), 0u) << "its first byte is a part of our jump";
  EXPECT_TRUE(is_overwritten(begin, site));
  EXPECT_EQ(target, callee);
  EXPECT_FALSE(is_overwritten(begin + 1, site)) << "another function's window";
  EXPECT_FALSE(is_overwritten(begin, site + 5)) << "behind the window";
  EXPECT_TRUE(is_overwritten(begin, site - 1));
  EXPECT_EQ(target, 0u) << "no displaced call ends there";
  const std::uint64_t other = site + 1;
  std::memcpy(word, &other, sizeof other);
  EXPECT_TRUE(is_overwritten(begin, site));
  EXPECT_EQ(target, 0u) << "it returns elsewhere";
  std::memcpy(word, &site, sizeof site);
  arch::write_distance(displaced + 2, begin + 16);
  EXPECT_TRUE(is_overwritten(begin, site));
  EXPECT_EQ(target, 0u) << "the program's own push and jump";
  arch::write_distance(displaced + 2, slot(1) + arch::kTrampolineWord);
  displaced[6] = 0x90;
  EXPECT_TRUE(is_overwritten(begin, site));
  EXPECT_EQ(target, 0u) << "it is no jump";
  window_.window = arch::RewrittenFunction::kNoWindow;
  EXPECT_FALSE(is_overwritten(begin, site)) << "nothing is displaced";
  window_.window = 0;
  arch::write_jump(text, slot(3));
  EXPECT_FALSE(is_overwritten(begin, site)) << "the jump is the function's own";
}

TEST_F(TrampolinePlaces, AreLimitedInNumber) {
  for (std::uint32_t i = 1; i < signal_safe::Trampolines::kMost; ++i) {
    EXPECT_TRUE(all_->add({i, i, i + 1}));
  }
  EXPECT_FALSE(all_->add({1, 1, 2}));
}

}  // namespace
}  // namespace fbleprof
