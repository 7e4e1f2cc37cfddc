// Basic blocks as virtual time. Runs the same blocks every time. Built with -DCOUNT it has a hook
// of its own, which prints the number of blocks by function.
#include <stdio.h>
#include <stdlib.h>

#include "block.h"

#ifdef __clang__
#define NO_BLOCKS __attribute__((no_sanitize("coverage")))
#else
#define NO_BLOCKS __attribute__((no_sanitize_coverage))
#endif

#ifdef COUNT
static unsigned long blocks;
NO_BLOCKS void __sanitizer_cov_trace_pc(void) { ++blocks; }
NO_BLOCKS void __sanitizer_cov_trace_pc_guard(unsigned* guard) { (void)guard, ++blocks; }
NO_BLOCKS void __sanitizer_cov_trace_pc_guard_init(unsigned* a, unsigned* b) { (void)a, (void)b; }
NO_BLOCKS static void print_blocks(void) { fprintf(stderr, "blocks %lu\n", blocks); }
#endif

BLOCK int collatz(unsigned long n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

BLOCK int longest(unsigned long most) {
  int best = 0;
  for (unsigned long n = 1; n < most; ++n) {
    const int steps = collatz(n);
    if (steps > best) best = steps;
  }
  return best;
}

static int by_value(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return x < y ? -1 : x > y;
}

BLOCK int sorted(int count) {
  int* values = malloc((unsigned long)count * sizeof *values);
  for (int i = 0; i < count; ++i) values[i] = (int)(i * 7919l % count);
  qsort(values, (size_t)count, sizeof *values, by_value);
  const int middle = values[count / 2];
  free(values);
  return middle;
}

int main(void) {
#ifdef COUNT
  atexit(print_blocks);
#endif
  printf("%d %d\n", longest(3000), sorted(5000));
  return 0;
}
