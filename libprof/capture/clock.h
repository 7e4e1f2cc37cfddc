// Reads clocks, and sleeps, by system call: the program may have its own clock_gettime, and we may
// need the time before that function is ready.
#pragma once

#include <time.h>

#include <cstdint>

#include "arch/kernel.h"

namespace fbleprof::capture {

// Nanoseconds; 0 if the clock does not exist.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  if (arch::kernel_failed(
          arch::kernel_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&now)))) {
    return 0;
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Waits for another thread to end what takes it a few system calls. It sleeps, because that thread
// may have a lower priority. Async-signal-safe.
inline void pause_shortly() {
  timespec pause{0, 20'000};
  arch::kernel_call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
}

// The CPU clock of a thread of this process, as the kernel encodes it.
inline clockid_t cpu_clock_of(std::uint32_t tid) { return static_cast<clockid_t>(~tid << 3 | 6); }

}  // namespace fbleprof::capture
