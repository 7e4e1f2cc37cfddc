// Code without hooks below hooked code, where a walk could fail: in fibers, in handlers on a signal
// stack, at several places of one function, where another function has just returned, and in a part
// that the compiler split off.
// argv[1]: how many ms each of them takes.
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "block.h"

#define PLAIN static UNHOOKED __attribute__((noipa))

static ucontext_t host, fiber;
static long ms, switched, handled;

PLAIN void grind(void) {
  work(1000);
  KEEP;
}
PLAIN void helper(void) {
  grind();
  KEEP;
}

BLOCK void in_fiber(void) {
  ++switched;
  helper();
  KEEP;
}
BLOCK void yield(void) {
  swapcontext(&fiber, &host);
  KEEP;
}
BLOCK void hooked_body(void) {
  for (;;) {
    in_fiber();
    yield();
  }
}
PLAIN void plain_body(void) {
  for (;;) {
    helper();
    swapcontext(&fiber, &host);
  }
}
BLOCK void run_fiber(void (*body)(void)) {
  static char stack[1 << 16];
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = sizeof stack;
  fiber.uc_link = &host;
  makecontext(&fiber, body, 0);
  for (long i = 0; i < ms; ++i) swapcontext(&host, &fiber);
  KEEP;
}

BLOCK void in_handler(void) {
  ++handled;
  helper();
  KEEP;
}
BLOCK void hooked_handler(int number) {
  (void)number;
  in_handler();
  KEEP;
}
PLAIN void plain_handler(int number) {
  (void)number;
  helper();
  KEEP;
}
BLOCK void interrupted(int number) {
  for (long i = 0; i < ms; ++i) raise(number);
  KEEP;
}

BLOCK void two_places(void) {
  for (long i = 0; i < ms; ++i) {
    helper();
    helper();
    helper();
    KEEP;
    if (i % 2 == 0) grind();
  }
  KEEP;
}

// Its return address is where that of `returned` was, and its call has no direct target.
static volatile int sink;
BLOCK void returned(void) { sink = 1; }
static void (*volatile pointed)(void) = helper;
BLOCK void through_a_pointer(void) {
  for (long i = 0; i < ms; ++i) {
    returned();
    pointed();
  }
  KEEP;
}

// Unlikely calls are in a part of the function that has no hook of its own.
static UNHOOKED __attribute__((noipa, cold)) void unlikely(void) {
  grind();
  KEEP;
}
BLOCK void counted(void) { sink = 2; }
BLOCK void with_a_part(int is_rare) {
  sink = 3;
  if (is_rare) {
    unlikely();
    counted();
    unlikely();
    KEEP;
  }
}
BLOCK void parted(void) {
  for (long i = 0; i < ms; ++i) with_a_part(1);
  KEEP;
}

int main(int argc, char** argv) {
  ms = argc > 1 ? atoi(argv[1]) : 20;
  static char alternate[1 << 16];
  const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = hooked_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = plain_handler;
  sigaction(SIGUSR2, &action, NULL);

  run_fiber(hooked_body);
  run_fiber(plain_body);
  interrupted(SIGUSR1);
  interrupted(SIGUSR2);
  two_places();
  through_a_pointer();
  parted();
  expect("main", "run_fiber", 2);
  expect("hooked_body", "in_fiber", switched);
  expect("hooked_handler", "in_handler", handled);
  expect("main", "interrupted", 2);
  expect("main", "two_places", 1);
  expect("through_a_pointer", "returned", ms);
  expect("with_a_part", "counted", ms);
  return 0;
}
