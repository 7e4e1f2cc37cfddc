// Functions that call nothing. With --exact they are counted, but have no entry on the shadow
// stack.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "block.h"

static volatile long sink;

BLOCK int leaf(int x) { return x * 3 + 1; }
BLOCK int other_leaf(int x) { return x * 5 + 1; }

// The entries of all levels are dead when the loop begins.
BLOCK int descend(int n) {
  const int y = n > 0 ? descend(n - 1) : 0;
  KEEP;
  return y + leaf(n);
}
BLOCK int deep_then_leaves(int n) {
  int y = descend(n);
  for (int i = 0; i < n; ++i) y += leaf(i) + other_leaf(i);
  return y;
}

// Arguments on the stack: the entry of an earlier callee lies above the leaf's frame.
BLOCK int leaf_of_many(int a, int b, int c, int d, int e, int f, int g, int h) {
  return a + b + c + d + e + f + g + h;
}
BLOCK int calls(int x) {
  const int y = leaf(x);
  KEEP;
  return y;
}
BLOCK int with_many(int x) {
  const int y = calls(x) + leaf_of_many(x, 1, 2, 3, 4, 5, 6, x) + leaf(x);
  KEEP;
  return y;
}

// Called by code without hooks.
static long compared;
BLOCK int compare(const void* a, const void* b) {
  ++compared;
  return *(const int*)a - *(const int*)b;
}
BLOCK int sorts(void) {
  int numbers[500];
  for (int i = 0; i < 500; ++i) numbers[i] = i * 7919 % 503;
  qsort(numbers, 500, sizeof *numbers, compare);
  return numbers[0];
}

// A leaf that a signal interrupts; the handler calls functions.
BLOCK void handler(int signal) {
  sink = sink + calls(signal);
  KEEP;
}
BLOCK void raises(void) {
  // A call of libc's raise would make this no leaf.
  __asm__ volatile("ud2");
}
BLOCK void skip(int signal, siginfo_t* info, void* context) {
  handler(signal);
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;  // behind the ud2
  sink = sink + (info != NULL);
}

// Takes most of the time.
BLOCK void burn(long units) { work(units); }
BLOCK void spends(void) {
  for (int i = 0; i < 100; ++i) {
    burn(3000);
    sink = sink + calls(i);
  }
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  for (int i = 0; i < 20; ++i) {
    sink = sink + deep_then_leaves(300) + with_many(i) + sorts();
    raises();
  }
  spends();
  expect("main", "deep_then_leaves", 20), expect("descend", "descend", 6000);
  expect("descend", "leaf", 6020), expect("deep_then_leaves", "leaf", 6000);
  expect("deep_then_leaves", "other_leaf", 6000);
  expect("with_many", "leaf_of_many", 20), expect("with_many", "leaf", 20);
  expect("main", "raises", 20), expect("skip", "handler", 20), expect("handler", "calls", 20);
  expect("calls", "leaf", 20 + 20 + 100), expect("spends", "burn", 100);
  expect("sorts", "compare", compared), expect("*", "compare", compared);
  expect("*", "skip", 20);
  return 0;
}
