// Tells whether code relies on things that callers do not pass: it reads flags before it writes
// them, or memory below the stack pointer that it did not write itself.
#pragma once

#include <bitset>
#include <vector>

#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

// Follows direct jumps. An indirect jump may lead to whatever no other instruction leads to.
class Reliance {
 public:
  // Of the instructions of a function, in order. `may_end`: the function may end with this one.
  void see(const Instruction& instruction, const std::vector<BelowStack>& accesses, bool may_end);
  // When all have been seen.
  void follow_jumps();
  bool relies() const { return relies_; }
  // Whether it reads memory below the stack pointer that must have outlived a call. Compilers make
  // no such code.
  bool reads_over_calls() const { return reads_over_calls_; }
  // Whether the function may end with a flag as it was at its start.
  bool may_keep_flags() const { return may_keep_flags_; }

 private:
  static constexpr std::int64_t kRedZone = 128;
  using Bytes = std::bitset<kRedZone>;

  struct Step {
    Address address, target;  // 0: it is no jump
    std::uint8_t reads_flags, writes_flags;
    bool may_end, is_call, ends_flow, jumps_indirectly, is_nop;
  };
  struct Access {
    std::size_t step;  // its number
    BelowStack memory;
  };
  // What the function has written on each way to a place. Nothing is known to lead there: all.
  struct Written {
    std::uint8_t flags = kAllFlags;      // by it or its callees
    std::uint8_t own_flags = kAllFlags;  // without those that callees may have written
    Bytes memory = Bytes().set();
    Bytes memory_since_call = Bytes().set();  // the last one; before the first: all

    void join(const Written& other);
    bool is_in(const Written& other) const;
  };
  struct Target {
    Address address;
    Written by_jumps, on_all_ways;
  };

  Target* target_at(Address address);
  void collect_targets();
  bool follow();
  // Whether it reads what is not written. Adds what it writes.
  static bool reads_other(const BelowStack& memory, Bytes& written);

  bool relies_ = false, reads_over_calls_ = false, may_keep_flags_ = false;
  Bytes written_before_;  // in order of address
  std::vector<Step> steps_;
  std::vector<Access> accesses_;
  std::vector<Target> targets_;  // of jumps, in order
  Written by_indirect_jumps_;
};

}  // namespace fbleprof::rewrite
