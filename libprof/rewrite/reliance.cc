#include "rewrite/reliance.h"

#include <algorithm>

namespace fbleprof::rewrite {

using Kind = Instruction::Kind;

void Reliance::see(const Instruction& instruction, const std::vector<BelowStack>& accesses,
                   bool may_end) {
  const bool is_jump = instruction.kind == Kind::kJump || instruction.kind == Kind::kBranch ||
                       instruction.kind == Kind::kUnmovable;
  for (const BelowStack& memory : accesses) {
    // Also in order of address: jumps from elsewhere may lead behind an end of the flow.
    if (reads_other(memory, written_before_)) relies_ = true;
    accesses_.push_back({steps_.size(), memory});
  }
  steps_.push_back({instruction.address, is_jump ? instruction.target : 0, instruction.reads_flags,
                    instruction.writes_flags, may_end, instruction.is_call(),
                    instruction.ends_flow(), instruction.kind == Kind::kIndirectJump,
                    instruction.is_nop});
}

bool Reliance::reads_other(const BelowStack& memory, Bytes& written) {
  bool reads = false;
  for (int i = 0; i < memory.bytes; ++i) {
    const std::int64_t byte = memory.offset + i + kRedZone;
    if (byte < 0 || byte >= kRedZone) continue;
    if (memory.is_read && !written[static_cast<std::size_t>(byte)]) reads = true;
    if (memory.is_written) written.set(static_cast<std::size_t>(byte));
  }
  return reads;
}

void Reliance::Written::join(const Written& other) {
  flags &= other.flags;
  own_flags &= other.own_flags;
  memory &= other.memory;
  memory_since_call &= other.memory_since_call;
}

bool Reliance::Written::is_in(const Written& other) const {
  return (flags & ~other.flags) == 0 && (own_flags & ~other.own_flags) == 0 &&
         (memory & ~other.memory).none() && (memory_since_call & ~other.memory_since_call).none();
}

Reliance::Target* Reliance::target_at(Address address) {
  const auto found = std::lower_bound(
      targets_.begin(), targets_.end(), address,
      [](const Target& target, Address wanted) { return target.address < wanted; });
  return found != targets_.end() && found->address == address ? &*found : nullptr;
}

// Those that are instructions of the function.
void Reliance::collect_targets() {
  std::vector<Address> addresses;
  for (const Step& step : steps_) {
    if (step.target != 0) addresses.push_back(step.target);
  }
  std::sort(addresses.begin(), addresses.end());
  auto next = addresses.begin();
  for (const Step& step : steps_) {
    while (next != addresses.end() && *next < step.address) ++next;
    if (next != addresses.end() && *next == step.address) targets_.push_back({*next, {}, {}});
  }
}

void Reliance::follow_jumps() {
  collect_targets();
  while (follow()) {
  }
}

// Goes through the instructions once. Whether it must be done again: less was written than was
// thought where a jump back leads.
bool Reliance::follow() {
  bool again = false;
  Written now{.flags = 0, .own_flags = 0, .memory = {}};
  bool is_reached = true;
  auto memory = accesses_.begin();
  auto next = targets_.begin();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (next != targets_.end() && next->address == step.address) {
      if (!is_reached) now = {};
      now.join(next->by_jumps);
      next->on_all_ways = now;
      is_reached = true;
      ++next;
    } else if (!is_reached) {
      if (step.is_nop) continue;
      now = by_indirect_jumps_;
      is_reached = true;
    }
    if ((step.reads_flags & ~now.flags) != 0) relies_ = true;
    now.flags |= step.writes_flags;
    now.own_flags |= step.writes_flags;
    for (; memory != accesses_.end() && memory->step == i; ++memory) {
      if (reads_other(memory->memory, now.memory)) relies_ = true;
      if (reads_other(memory->memory, now.memory_since_call)) reads_over_calls_ = true;
    }
    if (step.may_end && now.own_flags != kAllFlags) may_keep_flags_ = true;
    if (Target* target = step.target != 0 ? target_at(step.target) : nullptr) {
      target->by_jumps.join(now);
      const bool is_back = target->address <= step.address;
      if (is_back && !target->on_all_ways.is_in(now)) again = true;
    }
    if (step.jumps_indirectly && !by_indirect_jumps_.is_in(now)) {
      by_indirect_jumps_.join(now);
      again = true;
    }
    if (step.ends_flow) is_reached = false;
    if (step.is_call) {
      now.flags = kAllFlags;  // a callee leaves its own
      now.memory_since_call.reset();
    }
  }
  return again;
}

}  // namespace fbleprof::rewrite
