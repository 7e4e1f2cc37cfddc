// Switches recording on and off while four threads compute, N times (argv[1]). The results must
// equal those of a run without us. Then it is off for a while, and on for a known number of calls.
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "block.h"

enum { kThreads = 4 };
static atomic_int is_over;

#define STEP(n) \
  BLOCK uint64_t step##n(uint64_t x) { return (x * (2 * n + 1)) ^ (x >> 7); }
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)

BLOCK uint64_t recursive(uint64_t depth, uint64_t x) {
  if (depth == 0) return x;
  return step1(step2(recursive(depth - 1, step3(x)))) + 1;
}

// Chunks of one seed have one result, so that any number of them can be compared.
BLOCK uint64_t chunk(uint64_t seed) {
  uint64_t x = seed;
  for (uint64_t i = 0; i < 2000; ++i) x += step4(step5(recursive(i & 15, i ^ seed)));
  return x;
}

static void* compute(void* seed) {
  const uint64_t expected = chunk((uint64_t)seed);
  long wrong = 0;
  do wrong += chunk((uint64_t)seed) != expected;
  while (!atomic_load(&is_over));
  return (void*)wrong;
}

BLOCK void measured(void) { KEEP; }
BLOCK void unmeasured(void) { KEEP; }

// While recording is off, these calls reach no hook; afterwards they all do.
BLOCK void phases(void) {
  fbleprof_stop();
  for (int i = 0; i < 1000; ++i) unmeasured();
  fbleprof_start();
  for (int i = 0; i < 3000; ++i) measured();
  fbleprof_stop();
  for (int i = 0; i < 1000; ++i) unmeasured();
  fbleprof_start();
}

int main(int argc, char** argv) {
  const long times = argc > 1 ? atol(argv[1]) : 100;
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, compute, (void*)(i + 1));
  for (long i = 0; i < times; ++i) {
    fbleprof_stop();
    fbleprof_start();
  }
  atomic_store(&is_over, 1);
  long wrong = 0;
  for (int i = 0; i < kThreads; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    wrong += (long)result;
  }
  printf("%ld wrong results\n", wrong);
  phases();
  expect("*", "measured", 3000);
  expect("*", "unmeasured", 0);
  return 0;
}
