// Functions that the compiler splits, under -finstrument-functions: the head, with the hook at its
// entry, is inlined; the rest, with the hook at its exit, is called. Written by hand, as compilers
// do not always do so. And functions inlined into one that they leave by longjmp.
#include <setjmp.h>

#include "block.h"

#define BY_HAND __attribute__((no_instrument_function, noinline))

void __cyg_profile_func_enter(void* function, void* site);
void __cyg_profile_func_exit(void* function, void* site);

static volatile long sink;
static jmp_buf out;

BLOCK void leaf(long units) {
  work(units);
  KEEP;
}

BLOCK void split(void) { KEEP; }
BLOCK void split_again(void) { KEEP; }

BY_HAND void rest(long units) {
  leaf(units);
  // Its last action is a tail call.
  __cyg_profile_func_exit((void*)split, __builtin_return_address(0));
}

BY_HAND void rest_again(long units) {
  volatile long room[20] = {units};
  leaf(units);
  __cyg_profile_func_exit((void*)split_again, __builtin_return_address(0));
  sink = room[0];
}

BLOCK void host(long rounds) {
  for (long i = 0; i < rounds; ++i) {
    __cyg_profile_func_enter((void*)split, __builtin_return_address(0));
    rest(1);
    __cyg_profile_func_enter((void*)split_again, __builtin_return_address(0));
    rest_again(1);
    leaf(1);
  }
  KEEP;
}

BLOCK void jumper(void) { longjmp(out, 1); }

static inline __attribute__((always_inline)) void left_by_jump(void) {
  jumper();
  sink = sink + 1;
}

BLOCK void stays(long rounds) {
  volatile long i = 0;
  setjmp(out);
  if (i++ < rounds) left_by_jump();
  KEEP;
}

int main(void) {
  host(20000);
  stays(300000);
  leaf(1);
  expect("main", "host", 1);
  expect("host", "split", 20000);
  expect("host", "split_again", 20000);
  expect("host", "leaf", 20000);
  expect("split", "leaf", 20000);
  expect("split_again", "leaf", 20000);
  expect("*", "left_by_jump", 300000);
  expect("*", "jumper", 300000);
  expect("main", "leaf", 1);
  return 0;
}
