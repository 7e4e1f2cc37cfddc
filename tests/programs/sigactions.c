// Sets the same action again and again: the time is the kernel's and libc's, not the recorder's.
//
// Usage: sigactions [own]. With "own", by a function of its own that has a name of libc's.
#include <signal.h>

#include "block.h"

static void nothing(int number) { (void)number; }

BLOCK void actions(void) {
  for (int i = 0; i < 400000; ++i) signal(SIGUSR1, nothing);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier)
int __sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  return sigaction(number, action, old);
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count == 1) {
    actions();
    return 0;
  }
  struct sigaction action = {.sa_handler = nothing}, old;
  for (int i = 0; i < 3; ++i) {
    if (__sigaction(SIGTERM, &action, &old) != 0) return 1;
    printf("%s\n", old.sa_handler == nothing ? "nothing" : "default");
  }
  return 0;
}
