#include "rewrite/entries.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "rewrite/displaced.h"
#include "rewrite/jump_frames.h"

namespace fbleprof::rewrite {
namespace {

using plan::Reason;
using Kind = Instruction::Kind;

// The first bytes of a function; zeros behind the end of the code.
using Head = std::array<std::uint8_t, 16>;
Head head_at(const ElfImage& image, Address address) {
  Head head{};
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (const std::uint8_t* byte = image.at(address + i)) head[i] = *byte;
  }
  return head;
}

}  // namespace

Entries::Entries(const ElfImage& image, std::vector<Function>& functions,
                 const References& references)
    : image_(image),
      functions_(functions),
      references_(references),
      probes_(image.probes()),
      decoder_(image) {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Address next = i + 1 < functions_.size() ? functions_[i + 1].begin : image_.text_end();
    choose(functions_[i], std::max(next, functions_[i].end));
  }
  const std::vector<Address> named = references_.tables().named_by_distances();
  for (Function& function : functions_) {
    choose_calls(function, std::binary_search(named.begin(), named.end(), function.begin));
  }
  for (const Function& function : functions_) find_tail_calls(function);
  std::sort(tail_calls_.begin(), tail_calls_.end());
}

// Ranges that the unwind table lists but that nobody calls as a function.
bool Entries::is_no_function(Function& function, const std::uint8_t* code) {
  const bool may_be_part = function.may_be_part();
  const bool is_only_jumped_to = may_be_part && !function.is_pointed_at;
  if (!function.starts_like_a_call) {
    function.reason = Reason::kNotAnEntry;
  } else if (!function.decodes) {
    function.reason = Reason::kUndecodable;
  } else if (is_stub(code) && !function.is_named) {
    function.reason = Reason::kStub;
  } else if (is_thunk(code, function.end - function.begin)) {
    function.reason = Reason::kStub;  // it also runs in the middle of functions, which jump there
  } else if (function.is_named_part && !function.is_called) {
    function.reason = Reason::kPart;  // also if a table leads to it
  } else if (may_be_part && (function.is_only_in_tables || function.may_find_red_zone)) {
    function.reason = Reason::kPart;
  } else if (is_only_jumped_to && (function.branches_from_others != 0 || function.is_fallen_into)) {
    function.reason = Reason::kPart;
  } else if (is_only_jumped_to && function.jumps_from_others == 0) {
    function.reason = Reason::kUnreferenced;
  } else if (is_only_jumped_to && function.jumps_from_others == 1 &&
             (function.begin % 16 != 0 || function.jumps_into_others)) {
    function.reason = Reason::kPart;
  } else if (function.is_resolver) {
    function.reason = Reason::kResolver;
  } else if (function.relies_on_caller) {
    function.reason = Reason::kOddEntry;
  } else if (function.may_keep_flags && function.leaves_flags) {
    function.reason = Reason::kKeepsFlags;
  } else if (function.leaves_memory) {
    function.reason = Reason::kKeepsMemory;
  }
  return function.reason != Reason::kNone;
}

void Entries::choose(Function& function, Address limit) {
  if (is_no_function(function, head_at(image_, function.begin).data())) return;
  Window window{&function, function.begin, 0, {}};
  function.reason = read_window(function, limit, window);
  if (function.reason != Reason::kNone) {
    function.way = Function::Way::kCalls;  // perhaps: see choose_calls
    return;
  }
  function.way = Function::Way::kEntry;
  windows_.push_back(std::move(window));
}

// Collects the instructions that a five-byte jump would overwrite; kNone if the jump may do so.
Reason Entries::read_window(const Function& function, Address limit, Window& window) const {
  if (function.jumps_to_itself != 0) return Reason::kLoop;
  const JumpFrames jumps(image_, references_, functions_, function);
  if ((function.has_table_with_start && jumps.may_lead_by_table(function.begin)) ||
      jumps.may_lead_by_distance(function.begin)) {
    return Reason::kLoop;
  }
  Address begin = function.begin;
  if (begins_with_endbr(head_at(image_, begin).data())) {
    begin += sizeof kEndbr;  // it must stay where indirect branches arrive
    if (references_.is_target(begin)) return Reason::kTarget;
  }
  window.begin = begin;
  const Address end = begin + plan::kJumpBytes;
  if (!image_.at(begin, sizeof plan::Trampoline{}.expected)) return Reason::kTooShort;
  for (Address at = begin + 1; at < end; ++at) {
    if (references_.is_target(at)) return Reason::kTarget;
  }
  Address at = begin;
  bool has_ended = false;
  while (at < end) {
    if (at >= function.end || has_ended) {
      // What follows may be overwritten only if it is padding, up to the alignment that compilers
      // use for the next function, or for a loop in this one.
      const auto is_gap_to = [&](Address alignment) {
        return references_.is_padding(
            at, std::min(limit, (end + alignment - 1) / alignment * alignment), Zeros::kAreData);
      };
      if (!has_ended || end > limit || !(is_gap_to(16) || is_gap_to(8))) return Reason::kTooShort;
      at = end;
      break;
    }
    Instruction instruction;
    if (!decoder_.decode(at, function.end, &instruction)) return Reason::kUndecodable;
    // The handler of a breakpoint looks at, and returns to, the address behind it.
    if (instruction.kind == Kind::kUnmovable || instruction.is_breakpoint) {
      return Reason::kUnmovable;
    }
    if (instruction.kind == Kind::kIndirectCall) return Reason::kCall;
    // A call must stay where it is, because it returns to the place behind it.
    if (instruction.kind == Kind::kCall && instruction.end() < end) return Reason::kCall;
    window.instructions.push_back(instruction);
    at = instruction.end();
    has_ended = instruction.ends_flow();
  }
  window.resume = at;
  // The kernel runs what the file holds there, and continues behind it.
  if (has_probe(begin, at)) return Reason::kUnmovable;
  for (const Instruction& each : window.instructions) {
    if (each.address == function.begin) continue;
    if ((references_.tables().is_in_own_table(each.address) &&
         jumps.may_lead_by_table(each.address)) ||
        jumps.may_lead_by_distance(each.address)) {
      return Reason::kTarget;
    }
  }
  return Displaced(image_, window.instructions, at).fits() ? Reason::kNone : Reason::kUnmovable;
}

// Where the five bytes of a direct call or jump stand whose distance can be changed; 0: nowhere.
// Linkers turn `call *slot(%rip)` into `addr32 call`.
Address Entries::direct_at(const Branch& branch) const {
  constexpr std::uint8_t kWithoutEffect[] = {0x67, 0xf2, 0x2e, 0x3e};
  if (branch.length == plan::kJumpBytes) return branch.from;
  const std::uint8_t* code = image_.at(branch.from, branch.length);
  const bool has_prefix =
      code && branch.length == plan::kJumpBytes + 1 && (code[1] == 0xe8 || code[1] == 0xe9) &&
      std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), code[0]) !=
          std::end(kWithoutEffect);
  return has_prefix ? branch.from + 1 : 0;
}

bool Entries::is_site(const Branch& branch, const Function& function) const {
  if (direct_at(branch) == 0) return false;
  const Function* from = function_at(functions_, branch.from);
  if (!from || !from->decodes) return false;
  return branch.kind == Kind::kCall ||
         (branch.kind == Kind::kJump && !function.contains(branch.from));
}

// If the start must stay as it is, the calls can be changed: all of them, or the count is too low.
void Entries::choose_calls(Function& function, bool is_named_by_distances) {
  if (function.way != Function::Way::kCalls) return;
  bool has_site = false;
  bool has_other = function.is_pointed_at || is_named_by_distances || function.is_fallen_into;
  for (const Branch& branch : references_.to(function.begin)) {
    if (is_site(branch, function)) {
      has_site = true;
    } else if (!function.contains(branch.from)) {
      has_other = true;
    }
  }
  if (!has_site) {
    function.way = Function::Way::kNone;
    if (has_other) function.reason = Reason::kIndirectOnly;
    return;
  }
  function.reason = has_other ? Reason::kPartly : Reason::kNone;
  called_.push_back(&function);
}

bool Entries::is_displaced(Address address) const {
  auto next = std::upper_bound(windows_.begin(), windows_.end(), address,
                               [](Address a, const Window& b) { return a < b.begin; });
  return next != windows_.begin() && address < (next - 1)->resume;
}

bool Entries::has_probe(Address begin, Address end) const {
  const auto next = std::lower_bound(probes_.begin(), probes_.end(), begin);
  return next != probes_.end() && *next < end;
}

// Jumps to the function from those whose entries are all counted.
void Entries::find_tail_calls(const Function& function) {
  if (function.way == Function::Way::kNone) return;
  const Function* last = nullptr;  // branches from one function follow one another
  for (const Branch& branch : references_.to(function.begin)) {
    if (branch.kind != Kind::kJump) continue;
    const Function* from = function_at(functions_, branch.from);
    if (!from || from == &function || from == last || from->way != Function::Way::kEntry) continue;
    if (direct_at(branch) == 0 && !is_displaced(branch.from)) continue;
    tail_calls_.push_back({&function, from});
    last = from;
  }
}

std::uint32_t Entries::number_of_called(const Function* function) const {
  const auto found = std::lower_bound(called_.begin(), called_.end(), function);
  if (found == called_.end() || *found != function) return Displaced::kNotCounted;
  return static_cast<std::uint32_t>(windows_.size()) +
         static_cast<std::uint32_t>(found - called_.begin());
}

std::uint32_t Entries::number_of(const Function* function) const {
  if (function->way == Function::Way::kCalls) return number_of_called(function);
  const auto found =
      std::lower_bound(windows_.begin(), windows_.end(), function,
                       [](const Window& a, const Function* b) { return a.function < b; });
  return static_cast<std::uint32_t>(found - windows_.begin());
}

std::uint32_t Entries::number_of(const TailCall& call) const {
  const auto found = std::lower_bound(tail_calls_.begin(), tail_calls_.end(), call);
  if (found == tail_calls_.end() || call < *found) return Displaced::kNotCounted;
  return static_cast<std::uint32_t>(windows_.size() + called_.size()) +
         static_cast<std::uint32_t>(found - tail_calls_.begin());
}

// The trampoline for a call of `function`, or a jump to it; kNotCounted: its own instruction leads
// there, or nothing does.
std::uint32_t Entries::number_for(const Branch& branch, const Function& function) const {
  if (!is_site(branch, function)) return Displaced::kNotCounted;
  if (branch.kind == Kind::kJump) {
    const std::uint32_t number = number_of({&function, function_at(functions_, branch.from)});
    if (number != Displaced::kNotCounted) return number;
  }
  return number_of_called(&function);
}

plan::Trampoline Entries::with_window(const Window& window) const {
  Displaced displaced(image_, window.instructions, window.resume);
  plan::Trampoline result = displaced.trampoline([&](Address target, Kind kind) {
    const Function* function = function_at(functions_, target);
    if (!function || function->begin != target) return Displaced::kNotCounted;
    if (kind == Kind::kJump) {
      const std::uint32_t number = number_of({function, window.function});
      if (number != Displaced::kNotCounted) return number;
    }
    // Also its own recursion: a call in the window is a call like any other.
    return number_of_called(function);
  });
  result.function = static_cast<plan::Address>(window.function->begin);
  result.window = static_cast<plan::Address>(window.begin);
  result.is_leaf = window.function->is_leaf;
  std::memcpy(result.expected, image_.at(window.begin, sizeof result.expected),
              sizeof result.expected);
  return result;
}

plan::Trampoline Entries::without_window(const Function& function) const {
  plan::Trampoline result = Displaced(image_, {}, function.begin).trampoline(nullptr);
  result.function = static_cast<plan::Address>(function.begin);
  result.is_leaf = function.is_leaf;
  return result;
}

// Calls the hook, and jumps to what the function's own trampoline does after the hook.
plan::Trampoline Entries::for_tail_calls(const TailCall& call,
                                         const plan::Trampoline* numbered) const {
  const std::uint32_t own = number_of(call.to);
  plan::Trampoline result{};
  result.function = static_cast<plan::Address>(call.to->begin);
  result.jumps_from = static_cast<plan::Address>(call.from->begin);
  result.pushes_return = numbered[own].pushes_return;
  result.code[0] = 0xe9;
  result.code_bytes = plan::kJumpBytes;
  result.fixups[0] = {own, 1, 0, plan::FixupKind::kBehindHook, 0};
  result.fixup_count = 1;
  return result;
}

// What the unwind table does not list: by symbols, and in files without them by calls. Code that is
// not listed itself may be the C runtime's, which every program has, so its calls do not count.
std::map<Address, std::uint64_t> Entries::unlisted() const {
  std::map<Address, std::uint64_t> found = references_.held().unlisted();
  const auto has_symbol = [&](Address address) {
    const auto& named = references_.held().unlisted();
    const auto next = named.upper_bound(address);
    return next != named.begin() && address < std::prev(next)->first + std::prev(next)->second;
  };
  std::vector<Address> called;
  for (const Branch& branch : references_.code().branches()) {
    const Address target = branch.target;
    if (branch.kind != Kind::kCall || !image_.in_text(target)) continue;
    if ((!called.empty() && called.back() == target) || has_symbol(target)) continue;
    if (function_at(functions_, target) || !function_at(functions_, branch.from)) continue;
    constexpr std::uint64_t kMostOfThunk = 32;
    const Head head = head_at(image_, target);
    if (!is_stub(head.data()) && !is_thunk(head.data(), kMostOfThunk)) called.push_back(target);
  }
  for (const Address address : called) found.emplace(address, 0);
  for (const Address address : called) {
    const auto next = found.upper_bound(address);
    const Address end = next == found.end() ? image_.text_end() : next->first;
    const auto function =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](Address a, const Function& b) { return a < b.begin; });
    found[address] =
        (function == functions_.end() ? end : std::min(end, function->begin)) - address;
  }
  return found;
}

std::string Entries::plan() const {
  std::vector<plan::Trampoline> trampolines;
  for (const Window& window : windows_) trampolines.push_back(with_window(window));
  for (const Function* function : called_) trampolines.push_back(without_window(*function));
  for (const TailCall& call : tail_calls_) {
    trampolines.push_back(for_tail_calls(call, trampolines.data()));
  }
  std::vector<plan::Site> sites;
  for (const Function& function : functions_) {
    if (function.way == Function::Way::kNone) continue;
    for (const Branch& branch : references_.to(function.begin)) {
      // A branch in a window leads to the trampoline from its new place.
      if (is_displaced(branch.from)) continue;
      const std::uint32_t number = number_for(branch, function);
      if (number == Displaced::kNotCounted) continue;
      sites.push_back({static_cast<plan::Address>(direct_at(branch)), number});
    }
  }
  std::vector<plan::Refusal> refusals;
  for (const Function& function : functions_) {
    if (function.reason == Reason::kNone) continue;
    refusals.push_back({static_cast<plan::Address>(function.begin),
                        static_cast<std::uint32_t>(function.end - function.begin), function.reason,
                        0});
  }
  for (const auto& [address, size] : unlisted()) {
    refusals.push_back({static_cast<plan::Address>(address), static_cast<std::uint32_t>(size),
                        Reason::kUnlisted, 0});
  }
  plan::Header header{};
  std::memcpy(header.magic, plan::kMagic, sizeof header.magic);
  header.version = plan::kVersion;
  header.trampolines = static_cast<std::uint32_t>(trampolines.size());
  header.sites = static_cast<std::uint32_t>(sites.size());
  header.refusals = static_cast<std::uint32_t>(refusals.size());
  for (const Elf64_Phdr& part : image_.code()) {
    header.segments[header.segment_count++] = {
        static_cast<plan::Address>(part.p_vaddr),
        static_cast<plan::Address>(part.p_vaddr + part.p_filesz)};
  }
  header.instructions = references_.code().instructions();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  const auto add = [&bytes](const auto& items) {
    bytes.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof items[0]);
  };
  add(trampolines);
  add(sites);
  add(refusals);
  return bytes;
}

}  // namespace fbleprof::rewrite
