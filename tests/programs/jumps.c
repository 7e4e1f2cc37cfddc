// Jumps out of many frames: longjmp over 100 of them, siglongjmp out of a handler, and the next
// calls at the target.
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "block.h"

static jmp_buf back;
static sigjmp_buf from_handler;
static volatile long sink;

BLOCK void thrower(void) { longjmp(back, 1); }
BLOCK void level(int n) {
  if (n > 1)
    level(n - 1);
  else
    thrower();
  KEEP;
}
BLOCK void after(void) { sink = sink + 1; }
BLOCK void base(void) {
  if (setjmp(back) == 0)
    level(99);
  else
    after();
  KEEP;
}

BLOCK void leave_handler(void) { siglongjmp(from_handler, 1); }
BLOCK void on_signal(int number) {
  (void)number;
  leave_handler();
  KEEP;
}
BLOCK void raiser(void) {
  raise(SIGUSR1);
  KEEP;
}
BLOCK void recovered(void) { sink = sink + 1; }
BLOCK void guarded(void) {
  if (sigsetjmp(from_handler, 1) == 0)
    raiser();
  else
    recovered();
  KEEP;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 1000; ++i) base();
  for (int i = 0; i < 1000; ++i) guarded();
  expect("main", "base", 1000);
  expect("base", "level", 1000);
  expect("level", "level", 98 * 1000);
  expect("level", "thrower", 1000);
  expect("base", "after", 1000);
  expect("level", "after", 0);
  expect("thrower", "after", 0);
  expect("main", "guarded", 1000);
  expect("guarded", "raiser", 1000);
  expect("on_signal", "leave_handler", 1000);
  expect("guarded", "recovered", 1000);
  return 0;
}
