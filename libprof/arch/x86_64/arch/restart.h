// Hooks that were interrupted by a signal whose handler forked: in the child they start again.
#pragma once

#include <cstdint>

#include "arch/registers.h"

// Distances from the start of the hooks; see RESTARTABLE in hooks.S.
struct FbleprofRestart {
  std::uint32_t begin, end, resume;
};
extern "C" {
extern const FbleprofRestart fbleprof_restarts[] __attribute__((visibility("hidden")));
extern const FbleprofRestart fbleprof_restarts_end[] __attribute__((visibility("hidden")));
}

namespace fbleprof::arch {

// Where a hook that was interrupted at `pc` starts again; 0: pc is not in a hook, or the hook may
// continue.
inline std::uint64_t restart_of(std::uint64_t pc, const char* hooks_begin) {
  const std::uint64_t begin = reinterpret_cast<std::uint64_t>(hooks_begin);
  for (const FbleprofRestart* one = fbleprof_restarts; one != fbleprof_restarts_end; ++one) {
    if (pc - begin >= one->begin && pc - begin < one->end) return begin + one->resume;
  }
  return 0;
}

// Whether `pc` points to the interrupted pc of a signal frame on the stack: the flags and the
// segments of a user program follow it.
inline bool is_pc_of_signal_frame(const std::uint64_t* pc) {
  constexpr std::uint64_t kFlags = 0x3fffff, kAlwaysSet = 2, kUserCode = 0x33;
  constexpr std::uint64_t kSegments = (std::uint64_t{1} << 48) - 1;
  return (pc[1] & ~kFlags) == 0 && (pc[1] & kAlwaysSet) != 0 && (pc[2] & kSegments) == kUserCode;
}

}  // namespace fbleprof::arch
