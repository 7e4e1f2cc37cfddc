// Infinite recursion: dies of SIGSEGV, or (argv[1] = caught) catches it on an alternate stack.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"

static sigjmp_buf back;
static char alternate[1 << 16];

#pragma GCC diagnostic ignored "-Winfinite-recursion"
BLOCK int forever(int n) {
  volatile char frame[512];
  frame[n % 512] = 1;
  int next = forever(n + 1);
  KEEP;
  return next + frame[n % 512];
}
BLOCK void caught(void) { KEEP; }
BLOCK void on_overflow(int number) {
  (void)number;
  siglongjmp(back, 1);
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "caught")) {
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    sigaltstack(&stack, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_overflow;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 3; ++i) {
      if (sigsetjmp(back, 1) == 0)
        forever(0);
      else
        caught();
    }
    puts("caught 3 times");
    expect("main", "caught", 3), expect("main", "forever", 3), expect("forever", "caught", 0);
    return 0;
  }
  return forever(0);
}
