// Stacks that grow by pieces (-fsplit-stack, gccgo).
#pragma once

#include <cstdint>

namespace fbleprof::arch {

// Where a thread's control block, at its thread pointer, has the end of its stack's newest piece
// (glibc's __private_ss). 0: its stack has no pieces.
inline constexpr std::uint64_t kSplitStackGuard = 0x70;

// Of the calling thread.
inline bool has_split_stack() {
  std::uint64_t guard;
  asm("mov %%fs:%c1, %0" : "=r"(guard) : "i"(kSplitStackGuard));
  return guard != 0;
}

}  // namespace fbleprof::arch
