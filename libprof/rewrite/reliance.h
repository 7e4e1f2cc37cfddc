// Tells whether code relies on things that callers do not pass: it reads flags before it writes
// them, or memory below the stack pointer that it did not write itself.
#pragma once

#include <bitset>
#include <vector>

#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

// Memory: assumes that code runs in order of address, which errs on the safe side.
class Reliance {
 public:
  // Of the instructions of a function, in order. `may_end`: the function may end with this one.
  void see(const Instruction& instruction, const std::vector<BelowStack>& accesses, bool may_end);
  bool relies() const { return relies_; }
  // Whether the function may end with a flag as it was at its start.
  bool may_keep_flags() const { return may_keep_flags_; }

 private:
  // Jumps forward, over which some flags are the caller's. Code that is reached by a jump back was
  // seen before, with the flags that it had then.
  struct Jump {
    Address target;
    std::uint8_t known, written;
  };

  void see_flags(const Instruction& instruction, bool may_end);

  static constexpr std::int64_t kRedZone = 128;
  bool relies_ = false, may_keep_flags_ = false;
  std::uint8_t known_flags_ = 0;
  std::uint8_t written_flags_ = 0;  // without those that callees may have written
  std::vector<Jump> jumps_;
  std::bitset<kRedZone> written_;
};

}  // namespace fbleprof::rewrite
