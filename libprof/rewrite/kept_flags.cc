#include "rewrite/kept_flags.h"

namespace fbleprof::rewrite {

using Kind = Instruction::Kind;

void KeptFlags::Calls::see(const Instruction& instruction) {
  constexpr std::size_t kMostCalls = 8;
  const bool is_call = instruction.kind == Kind::kCall;
  if (!called_.empty()) {
    const bool leads_to_reader =
        (is_call || instruction.kind == Kind::kJump) && kept_.reads_flags_at(instruction.target);
    if ((instruction.reads_flags & ~written_) != 0 || leads_to_reader) {
      kept_.calls_before_readers_.push_back(called_);
    }
    written_ |= instruction.writes_flags;
    if (written_ == kAllFlags || instruction.ends_flow() ||
        instruction.kind == Kind::kIndirectCall) {
      called_.clear();
    }
  }
  if (!is_call) return;
  if (called_.size() == kMostCalls) called_.erase(called_.begin());
  called_.push_back(instruction.target);
  written_ = 0;
}

// Whether code reads flags before it writes them. Follows jumps, but not calls.
bool KeptFlags::reads_flags_at(Address address) {
  constexpr int kMostInstructions = 16;
  const auto [place, is_new] = readers_.try_emplace(address, false);
  if (!is_new) return place->second;
  Address at = address;
  std::uint8_t written = 0;
  for (int i = 0; i < kMostInstructions; ++i) {
    Instruction instruction;
    if (!decoder_.decode(at, image_.text_end(), &instruction)) return false;
    if ((instruction.reads_flags & ~written) != 0) return place->second = true;
    written |= instruction.writes_flags;
    const bool is_jump = instruction.kind == Kind::kJump;
    if (written == kAllFlags || (instruction.ends_flow() && !is_jump) || instruction.is_call()) {
      return false;
    }
    at = is_jump ? instruction.target : instruction.end();
  }
  return false;
}

// What must leave its caller's flags alone, or returns flags, may have called other functions for a
// part of its work, or end in one.
void KeptFlags::mark(std::vector<Function>& functions, const std::vector<Branch>& branches) const {
  bool is_done = true;
  const auto mark_start = [&](Function* function, Address address) {
    if (!function || function->begin != address || function->leaves_flags) return;
    function->leaves_flags = true;
    is_done = false;
  };
  for (const std::vector<Address>& calls : calls_before_readers_) {
    // From the last: a call that never returns may stand there, and jumps lead behind it.
    for (auto address = calls.rbegin(); address != calls.rend(); ++address) {
      Function* function = function_at(functions, *address);
      mark_start(function, *address);
      const bool is_whole = function && function->begin == *address;
      const std::uint8_t* code = image_.at(*address, kStubBytes);
      if ((code && is_stub(code)) || (is_whole && !function->may_keep_flags)) break;
    }
  }
  while (!is_done) {
    is_done = true;
    for (const Branch& branch : branches) {
      const Function* from = function_at(functions, branch.from);
      if (from && from->leaves_flags) {
        mark_start(function_at(functions, branch.target), branch.target);
      }
    }
  }
}

}  // namespace fbleprof::rewrite
