// The cost of the C API. api_price PAIRS: prints ns for an enter and its leave, without the loop.
#include <fbleprof/fbleprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static NOINLINE void empty(long pairs) {
  for (long i = 0; i < pairs; ++i) __asm__ volatile("" ::: "memory");
}

static NOINLINE void entering(long pairs, fbleprof_block block) {
  for (long i = 0; i < pairs; ++i) {
    __asm__ volatile("" ::: "memory");
    fbleprof_enter(block);
    fbleprof_leave(block);
  }
}

int main(int argc, char** argv) {
  const long pairs = argc > 1 ? atol(argv[1]) : 20000000;
  const fbleprof_block block = fbleprof_block_new("block", __FILE__, __LINE__);
  entering(pairs / 10, block);
  double best = 1e9, best_empty = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = now_ns();
    empty(pairs / 5);
    const double middle = now_ns();
    entering(pairs / 5, block);
    const double end = now_ns();
    if (middle - start < best_empty) best_empty = middle - start;
    if (end - middle < best) best = end - middle;
  }
  printf("%.3f\n", (best - best_empty) / ((double)pairs / 5));
  return 0;
}
