// Functions whose entries are not where, or not as young as, a simple rule expects: frames that
// grow by alloca before the function calls or returns, a function that ends before a signal comes
// whose handler has a stack of its own, and code without hooks that is called as well as jumped to.
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>

#include "block.h"

enum { kRounds = 5 };

BLOCK void touch(volatile char* bytes) { *bytes = 1; }

// Twice as many calls at each depth, in frames of different sizes.
BLOCK void grows(int depth) {
  touch(alloca((depth & 3) * 48 + 16));
  KEEP;
  for (int i = 0; depth > 0 && i < 2; ++i) {
    grows(depth - 1);
    KEEP;
  }
}

static int compared;
BLOCK int compare_in_array(const void* a, const void* b) {
  const int n = *(const int*)a;
  ++compared;
  touch(alloca(n));
  KEEP;
  return n - *(const int*)b;
}
BLOCK void sorts(void) {
  int numbers[] = {40, 20, 60, 70, 80, 90, 30, 10, 25, 35};
  qsort(numbers, sizeof numbers / sizeof numbers[0], sizeof numbers[0], compare_in_array);
  KEEP;
}

BLOCK void inner(void) { KEEP; }
BLOCK void on_signal(int number) {
  (void)number;
  inner();
  KEEP;
}
BLOCK void before(void) { KEEP; }
BLOCK void raises(void) {
  before();
  KEEP;
  raise(SIGUSR2);
  KEEP;
}

// In one section, so that the jump to the helper is a near one.
__attribute__((noinline)) UNHOOKED void helper(void (*function)(void)) {
  function();
  KEEP;
}
BLOCK void called(void) { KEEP; }
BLOCK void jumps(void (*function)(void)) {
  KEEP;
  helper(function);
}

int main(void) {
  grows(4);
  sorts();
  const stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  for (int i = 0; i < kRounds; ++i) raises();
  for (int i = 0; i < kRounds; ++i) {
    jumps(called);
    KEEP;
    helper(called);
    KEEP;
  }
  expect("main", "grows", 1);
  expect("grows", "grows", 30);
  expect("grows", "touch", 31);
  expect("sorts", "compare_in_array", compared);
  expect("compare_in_array", "touch", compared);
  expect("raises", "before", kRounds);
  expect("raises", "on_signal", kRounds);
  expect("on_signal", "inner", kRounds);
  // With --exact, the helper counts as well.
  if (getenv("DESCEND_COUNTS") == NULL) expect("main", "called", kRounds);
  fflush(stdout);
  return 0;
}
