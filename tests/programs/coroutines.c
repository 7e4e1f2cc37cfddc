// Two coroutines by ucontext, which yield from deep inside; and a generator that is abandoned.
#include <stdlib.h>
#include <ucontext.h>

#include "block.h"

static ucontext_t host, fibers[2];
static int running;
enum { kTurns = 1000 };

BLOCK void leaf(void) { work(1); }
BLOCK void yield(void) {
  swapcontext(&fibers[running], &host);
  KEEP;
}
BLOCK void inner_a(void) {
  leaf();
  yield();
  leaf();
}
BLOCK void inner_b(void) {
  yield();
  leaf();
}
BLOCK void body_a(void) {
  for (;;) inner_a();
}
BLOCK void body_b(void) {
  for (;;) inner_b();
}
BLOCK void before(void) { KEEP; }
BLOCK void turn(int which) {
  before();  // has returned when the stacks are switched
  running = which;
  swapcontext(&host, &fibers[which]);
  KEEP;
}
BLOCK void between(void) { KEEP; }

int main(void) {
  for (int i = 0; i < 2; ++i) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack.ss_size = 1 << 16;
    fibers[i].uc_stack.ss_sp = malloc(1 << 16);
    fibers[i].uc_link = &host;
  }
  makecontext(&fibers[0], body_a, 0);
  makecontext(&fibers[1], body_b, 0);
  for (int i = 0; i < kTurns; ++i) {
    turn(0);
    between();
    turn(1);
    between();
  }
  expect("main", "turn", 2 * kTurns);
  expect("main", "between", 2 * kTurns);
  expect("turn", "before", 2 * kTurns);
  expect("turn", "body_a", 1);
  expect("turn", "body_b", 1);
  // Stacks unknown to the profiler: no call is lost, though one may be charged to the function that
  // ran when the stacks were switched.
  expect("*", "inner_a", kTurns);
  expect("*", "inner_b", kTurns);
  expect("*", "leaf", 3 * kTurns - 2);
  expect("*", "yield", 2 * kTurns);
  return 0;
}
