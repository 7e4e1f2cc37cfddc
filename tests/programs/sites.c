// Calls of one function from several places, some of them inlined, for call sites and lines.
//   sites ROUNDS
#include <stdio.h>
#include <stdlib.h>

static volatile double sink;

__attribute__((noinline)) double work(int n) {
  double sum = 0;
  for (int i = 1; i < n; ++i) sum += 1.0 / (i + sink);  // hot line
  return sum;
}

static inline __attribute__((always_inline)) void twice(int n) {
  sink = work(n) * 1e-9;  // inlined site
  sink = work(n) * 1e-9;
}

__attribute__((noinline)) void caller(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    sink = work(100) * 1e-9;   // first site
    sink = work(2000) * 1e-9;  // second site
    twice(200);
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 20000;
  caller(rounds);
  printf("called %d\n", 4 * rounds);
  return 0;
}
