// Calls after which an entry of the shadow stack seems alive by its address, though its function
// has returned: the next callee's frame lies below it.
#include <alloca.h>
#include <string.h>

#include "block.h"

static volatile long sink;

BLOCK void leaf(void) { sink = sink + 1; }
BLOCK void quick(void) { sink = sink + 2; }

// Its frame is 13 stack slots further down than quick's.
BLOCK long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
                long k, long l, long m, long n, long o, long p, long q, long r, long s) {
  leaf();
  KEEP;
  return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s;
}

BLOCK void stack_arguments(void) {
  quick();
  KEEP;
  sink = sink + many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
}

struct Big {
  char bytes[4000];
};
BLOCK void by_value(struct Big big) {
  leaf();
  KEEP;
  sink = sink + big.bytes[0];
}
BLOCK void big_argument(void) {
  struct Big big;
  memset(&big, 1, sizeof big);
  quick();
  KEEP;
  by_value(big);
  KEEP;
}

BLOCK void touch(char* p, int n) {
  p[n - 1] = 1;
  leaf();
  KEEP;
}
BLOCK void with_alloca(int n) {
  quick();
  KEEP;
  char* p = alloca(n);
  touch(p, n);
  KEEP;
  quick();
  KEEP;
  p = alloca(2 * n);
  touch(p, 2 * n);
  KEEP;
}

// The same at a deeper level: the stale entries are a chain.
BLOCK void chain(int level) {
  if (level > 1)
    chain(level - 1);
  else
    leaf();
  KEEP;
}
BLOCK void after_chain(void) {
  chain(10);
  KEEP;
  char* p = alloca(4096);
  touch(p, 4096);
  KEEP;
}

enum { kTimes = 1000 };
int main(void) {
  for (int i = 0; i < kTimes; ++i) {
    stack_arguments();
    big_argument();
    with_alloca(64 + i);
    after_chain();
  }
  expect("main", "stack_arguments", kTimes);
  expect("stack_arguments", "quick", kTimes);
  expect("stack_arguments", "many", kTimes);
  expect("many", "leaf", kTimes);
  expect("quick", "many", 0);
  expect("big_argument", "quick", kTimes);
  expect("big_argument", "by_value", kTimes);
  expect("by_value", "leaf", kTimes);
  expect("quick", "by_value", 0);
  expect("with_alloca", "quick", 2 * kTimes);
  expect("with_alloca", "touch", 2 * kTimes);
  expect("touch", "leaf", 3 * kTimes);
  expect("quick", "touch", 0);
  expect("after_chain", "chain", kTimes);
  expect("chain", "chain", 9 * kTimes);
  expect("chain", "leaf", kTimes);
  expect("after_chain", "touch", kTimes);
  expect("chain", "touch", 0);
  expect("leaf", "touch", 0);
  return 0;
}
