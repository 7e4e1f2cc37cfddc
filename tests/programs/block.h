// Shared by the test programs.
//
// BLOCK marks a function that must remain: not inlined, not cloned, called as often as the source
// says. A call followed by KEEP remains a call (no tail call). work() burns CPU time in its caller,
// the same amount per unit.
//
// Programs print expected counts, one line per pair: "expect CALLER CALLEE CALLS". The scripts
// compare the profile with those lines.
#pragma once

#include <stdio.h>
#include <time.h>

#ifdef __cplusplus
#define EXTERN_C extern "C"
#else
#define EXTERN_C
#endif

#ifdef __clang__
#define BLOCK EXTERN_C __attribute__((noinline))
#else
#define BLOCK EXTERN_C __attribute__((noipa))
#endif
#define UNHOOKED __attribute__((no_instrument_function))
#define INLINE static inline __attribute__((always_inline)) UNHOOKED
#define KEEP __asm__ volatile("" ::: "memory")

// A unit is 1000 dependent multiplications: about a microsecond.
INLINE void work(long units) {
  unsigned long x = 88172645463325252ul;
  for (long i = 0; i < units * 1000; ++i) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    __asm__ volatile("" : "+r"(x));
  }
}

// CPU time of the process in ms.
INLINE long cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000l + t.tv_nsec / 1000000;
}

INLINE void expect(const char* caller, const char* callee, long calls) {
  printf("expect %s %s %ld\n", caller, callee, calls);
}
