// The program's own actions for signals that end a process. own_signals HOW [PROFILE].
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "block.h"

static volatile sig_atomic_t seen;

BLOCK void counted(void) { work(20); }

static void clean_up(int number) {
  counted();
  signal(number, SIG_DFL);
  raise(number);
}
static void once(int number) {
  ++seen;
  if (number == SIGTERM) raise(number);
}
static void informed(int number, siginfo_t* info, void* context) {
  seen += number == info->si_signo && context != NULL;
}
static void on_bus(int number) {
  (void)!write(1, "SIGBUS\n", 7);
  counted();
  _exit(number);
}

static void tell(const char* what, int number) {
  struct sigaction action;
  sigaction(number, NULL, &action);
  printf("%s: %s flags %x returns %d masks %d %d %d %d\n", what,
         action.sa_handler == SIG_DFL   ? "default"
         : action.sa_handler == SIG_IGN ? "ignored"
         : action.sa_handler == once    ? "handled"
                                        : "other",
         (unsigned)action.sa_flags, action.sa_restorer != NULL,
         sigismember(&action.sa_mask, number), sigismember(&action.sa_mask, SIGHUP),
         sigismember(&action.sa_mask, SIGKILL), sigismember(&action.sa_mask, SIGSTOP));
}

// The program reads back the action that it set.
static void queries(void) {
  const int numbers[] = {SIGTERM, SIGUSR1, SIGBUS, SIGPROF, SIGRTMIN + 1, SIGCHLD};
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    const int number = numbers[i];
    tell("at first", number);
    printf("signal %d\n", signal(number, once) == SIG_DFL);
    tell("signal", number);
    struct sigaction action = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    sigaddset(&action.sa_mask, SIGHUP);
    printf("sigaction %d\n", sigaction(number, &action, NULL));
    tell("once", number);
    seen = 0;
    if (number == SIGUSR1) {
      raise(number);
      printf("seen %d\n", seen);
      tell("after it came", number);
    }
    printf("sigignore %d\n", sigignore(number));
    tell("ignored", number);
    printf("siginterrupt %d\n", siginterrupt(number, 1));
    signal(number, once);
    tell("interrupting", number);
    siginterrupt(number, 0);
    tell("restarting", number);
    printf("sigset %d\n", sigset(number, SIG_DFL) == once);
    // The kernel looks at the handler only, and resets nothing else.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_handler = SIG_IGN;
    sigaction(number, &action, NULL);
    raise(number);
    tell("ignored in the new way", number);
    action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
    action.sa_sigaction = informed;
    sigaction(number, &action, NULL);
    raise(number);
    tell("informed once", number);
    // The kernel keeps neither all of these bits nor all of these flags.
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART | 0x400 | 0x10000;
    sigaction(number, &action, NULL);
    tell("all masked", number);
    action.sa_handler = SIG_DFL;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, NULL);
    tell("default", number);
  }
  errno = 0;
  printf("too big %d %d\n", sigaction(65, NULL, NULL), errno);
  signal(SIGPROF, once);
  raise(SIGPROF);
}

// The old mask functions, for the signal that the profiler uses.
static void masks(void) {
  sigset_t set;
  signal(SIGPROF, once);
  siginterrupt(SIGPROF, 1);
  sighold(SIGPROF);
  sigprocmask(SIG_BLOCK, NULL, &set);
  printf("held %d\n", sigismember(&set, SIGPROF));
  for (int i = 0; i < 20000; ++i) counted();
  sigrelse(SIGPROF);
  sigprocmask(SIG_BLOCK, NULL, &set);
  printf("released %d\n", sigismember(&set, SIGPROF));
  const int before = sigsetmask(1 << (SIGPROF - 1) | 1);
  printf("set %x %x\n", (unsigned)before, (unsigned)sigblock(0));
  sigsetmask(before);
  sigignore(SIGPROF);
  for (int i = 0; i < 20000; ++i) counted();
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 1000; ++i) counted();
  if (!strcmp(how, "queries")) queries();
  if (!strcmp(how, "masks")) masks();
  if (!strcmp(how, "reraise")) {
    signal(SIGTERM, clean_up);
    raise(SIGTERM);
  }
  if (!strcmp(how, "once")) {
    struct sigaction action = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGTERM, &action, NULL);
    raise(SIGTERM);
  }
  if (!strcmp(how, "new-default")) {
    const struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_SIGINFO};
    sigaction(SIGTERM, &action, NULL);
    raise(SIGTERM);
  }
  if (!strcmp(how, "usr1")) raise(SIGUSR1);
  if (!strcmp(how, "realtime")) raise(SIGRTMIN + 3);
  if (!strcmp(how, "trap")) __asm__ volatile("int3");
  if (!strcmp(how, "bus")) {
    signal(SIGBUS, on_bus);
    if (argc > 2 && truncate(argv[2], 0) != 0) perror(argv[2]);
    for (int i = 0; i < 100000; ++i) counted();
  }
  puts("done");
  return 0;
}
