// A preloaded library whose destructor computes for 300 ms, frees what its constructor allocated,
// and keeps a block of its own.
#include <stdlib.h>
#include <time.h>

static void *freed, *volatile kept;
static volatile unsigned long sum;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) void compute_late(void) {
  const double end = now() + 0.3;
  while (now() < end)
    for (unsigned long i = 0; i < 100000; ++i) sum += i;
}

__attribute__((noinline)) void free_late(void) { free(freed); }
__attribute__((noinline)) void keep_late(void) { kept = malloc(3000); }

__attribute__((constructor)) static void begin(void) { freed = malloc(5000); }
__attribute__((destructor)) static void end(void) {
  compute_late();
  free_late();
  keep_late();
}
