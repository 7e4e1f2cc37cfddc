// A signal interrupts hooks anywhere, and its handler forks. The child goes on where the parent was
// interrupted, and ends with status 7.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

enum { kForks = 300 };

static volatile sig_atomic_t forks, bad, is_child;

BLOCK void leaf(void) { KEEP; }
BLOCK void middle(int depth) {
  leaf();
  if (depth > 0) middle(depth - 1);
  leaf();
  KEEP;
}

// One shot, after a varying time, so that the program gets to a different place each time.
UNHOOKED static void alarm_soon(void) {
  static unsigned next = 7;
  next = next * 1664525u + 1013904223u;
  const struct itimerval soon = {{0, 0}, {0, 20 + (next >> 16) % 100}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

UNHOOKED static void on_alarm(int number) {
  (void)number;
  if (is_child || forks == kForks) return;
  const pid_t pid = fork();
  if (pid == 0) {
    is_child = 1;
    return;
  }
  int status = 0;
  if (pid > 0) waitpid(pid, &status, 0);
  if (pid > 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 7)) ++bad;
  ++forks;
  alarm_soon();
}

int main(void) {
  signal(SIGALRM, on_alarm);
  alarm_soon();
  int rounds_of_child = 0;
  while (forks < kForks) {
    for (int i = 0; i < 5; ++i) middle(i);
    if (is_child && ++rounds_of_child == 100) _exit(7);
  }
  printf("children that died: %d\n", (int)bad);
  return 0;
}
