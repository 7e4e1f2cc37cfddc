// Clocks read by system call: the program may have a clock_gettime of its own, and ours may be
// asked before that one is ready.
#pragma once

#include <time.h>

#include <cstdint>

#include "arch/kernel.h"

namespace fbleprof::capture {

// Nanoseconds; 0 if there is no such clock.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  if (arch::kernel_failed(
          arch::kernel_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&now)))) {
    return 0;
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace fbleprof::capture
