// Sets the same action again and again: the time is the kernel's and libc's, not the recorder's.
#include <signal.h>

#include "block.h"

static void nothing(int number) { (void)number; }

BLOCK void actions(void) {
  for (int i = 0; i < 400000; ++i) signal(SIGUSR1, nothing);
}

int main(void) {
  actions();
  return 0;
}
