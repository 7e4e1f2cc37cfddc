// A signal interrupts the deepest function so far, with a register of each kind at 0. The shadow
// stack above that function's entry was never used.
#include <signal.h>

#include "block.h"

enum { kTimes = 3 };

static volatile int handled;

BLOCK void handle(void) {
  handled = handled + 1;
  KEEP;
}
BLOCK void on_trap(int number) {
  (void)number;
  handle();
  KEEP;
}
BLOCK void after(void) { KEEP; }
BLOCK void deepest(void) {
  for (int i = 0; i < kTimes; ++i) {
    __asm__ volatile(
        "xor %%eax, %%eax\n\t"
        "xor %%ecx, %%ecx\n\t"
        "xor %%edx, %%edx\n\t"
        "int3" ::
            : "rax", "rcx", "rdx", "cc", "memory");
  }
  after();  // --exact pushes no entries of functions that call nothing
  KEEP;
}
BLOCK void deeper(int depth) {
  if (depth > 0)
    deeper(depth - 1);
  else
    deepest();
  KEEP;
}

int main(void) {
  signal(SIGTRAP, on_trap);
  deeper(40);
  printf("handled %d\n", handled);
  expect("deeper", "deeper", 40);
  expect("deeper", "deepest", 1);
  expect("deepest", "on_trap", kTimes);
  expect("deepest", "after", 1);
  expect("on_trap", "handle", kTimes);
  return 0;
}
