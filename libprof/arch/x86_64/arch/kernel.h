// System calls as single instructions: no errno, no cancellation point, no lock, no lazy binding.
// Callable from anywhere. Results are the kernel's: -errno on failure.
#pragma once

#include <sys/syscall.h>

namespace fbleprof::arch {

inline long kernel_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

inline bool kernel_failed(long result) { return result < 0 && result > -4096; }

}  // namespace fbleprof::arch
