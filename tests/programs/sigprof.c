// Programs that use SIGPROF, or all signals, themselves. argv[1] says how.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // sigset

static volatile sig_atomic_t ticks;
static void on_tick(int number) {
  (void)number;
  ++ticks;
}

BLOCK void counted(void) { work(20); }
BLOCK void burn(void) {
  for (int i = 0; i < 10000; ++i) counted();
  expect("burn", "counted", 10000);
}

static const char* disposition(void) {
  struct sigaction action;
  sigaction(SIGPROF, NULL, &action);
  if (action.sa_handler == SIG_DFL) return "default";
  if (action.sa_handler == SIG_IGN) return "ignored";
  return action.sa_handler == on_tick ? "on_tick" : "foreign";
}

static void show_mask(void) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  printf("mask:");
  for (int i = 1; i < 65; ++i)
    if (sigismember(&mask, i) == 1) printf(" %d", i);
  printf("\n");
}

// The same set for the new mask and the old one.
BLOCK void one_set(void) {
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_SETMASK, &set, &set);
  printf("before: %d\n", sigismember(&set, SIGPROF));
  show_mask();
  sigfillset(&set);
  pthread_sigmask(SIG_UNBLOCK, &set, &set);
  printf("before: %d\n", sigismember(&set, SIGPROF));
  show_mask();
}

// Its own profiling timer, as `node --cpu-prof` has.
BLOCK void own_timer(void) {
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, &old);
  printf("was %s, is %s\n", old.sa_handler == SIG_DFL ? "default" : "other", disposition());
  struct itimerval timer = {{0, 10000}, {0, 10000}}, was;
  setitimer(ITIMER_PROF, &timer, NULL);
  burn();
  // On a busy machine, the kernel's ticks rarely meet a program that is sampled.
  for (int i = 0; i < 100000 && ticks <= 3; ++i) work(20);
  getitimer(ITIMER_PROF, &was);
  printf("ticks came: %d, interval %ld\n", ticks > 3, (long)was.it_interval.tv_usec);
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_PROF, &timer, NULL);
  int before = ticks;
  raise(SIGPROF);
  printf("raised: %d\n", ticks - before);
  signal(SIGPROF, SIG_DFL);
  printf("now %s\n", disposition());
}

BLOCK void* sender(void* target) {
  for (int i = 0; i < 200; ++i) counted();
  pthread_kill(*(pthread_t*)target, SIGUSR2);
  return NULL;
}

// Waits for any signal; only the one that was sent may come.
BLOCK void wait_for_all(void) {
  sigset_t all;
  pthread_t self = pthread_self(), thread;
  int number = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  show_mask();
  pthread_create(&thread, NULL, sender, &self);
  for (int i = 0; i < 2000; ++i) counted();  // something of ours would be pending by now
  sigset_t pending;
  pthread_join(thread, NULL);
  sigpending(&pending);
  printf("pending SIGPROF: %d\n", sigismember(&pending, SIGPROF));
  sigwait(&all, &number);
  printf("sigwait: %d\n", number);
  struct timespec none = {0, 0};
  printf("more: %d\n", sigtimedwait(&all, NULL, &none));
  expect("sender", "counted", 200);
  expect("wait_for_all", "counted", 2000);
}

BLOCK void read_signalfd(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  int fd = signalfd(-1, &all, SFD_NONBLOCK);
  for (int i = 0; i < 2000; ++i) counted();
  struct signalfd_siginfo info;
  printf("read: %d\n", (int)read(fd, &info, sizeof info));
  raise(SIGUSR1);
  if (read(fd, &info, sizeof info) == sizeof info) printf("signal: %d\n", info.ssi_signo);
  printf("read: %d\n", (int)read(fd, &info, sizeof info));
  expect("read_signalfd", "counted", 2000);
}

// In a child, resets all actions by system calls, as Chromium does before it executes a program.
// Then the child works for longer than a sampling period.
BLOCK void reset_by_calls(void) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
  } action;
  signal(SIGUSR1, on_tick);
  const pid_t child = fork();
  if (child == 0) {
    printf("handled:");
    for (int i = 1; i < 65; ++i) {
      if (syscall(SYS_rt_sigaction, i, NULL, &action, 8) != 0) continue;
      if (action.handler != SIG_DFL) printf(" %d", i);
      action.handler = SIG_DFL;
      syscall(SYS_rt_sigaction, i, &action, NULL, 8);
    }
    printf("\nthen %s, wrong size: %ld\n", disposition(),
           syscall(SYS_rt_sigaction, SIGPROF, NULL, &action, 4));
    fflush(stdout);
    for (int i = 0; i < 10000; ++i) counted();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", status);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "timer";
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  if (!strcmp(how, "timer")) {
    own_timer();
  } else if (!strcmp(how, "start")) {  // what a program sees that does nothing
    printf("%s\n", disposition());
    show_mask();
    burn();
  } else if (!strcmp(how, "ignored")) {
    signal(SIGPROF, SIG_IGN);
    printf("%s\n", disposition());
    raise(SIGPROF);
    burn();
  } else if (!strcmp(how, "default")) {
    signal(SIGPROF, SIG_DFL);
    printf("%s\n", disposition());
    burn();
    fflush(stdout);
    kill(getpid(), SIGPROF);  // dies of it, as any program would
    pause();
  } else if (!strcmp(how, "blocked")) {
    sigprocmask(SIG_BLOCK, &set, NULL);
    show_mask();
    burn();
    raise(SIGPROF);
    sigset_t pending;
    sigpending(&pending);
    printf("pending: %d\n", sigismember(&pending, SIGPROF));
    struct timespec none = {0, 0};
    printf("taken: %d\n", sigtimedwait(&set, NULL, &none));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    show_mask();
  } else if (!strcmp(how, "full")) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    show_mask();
    burn();
  } else if (!strcmp(how, "sigwait")) {
    wait_for_all();
  } else if (!strcmp(how, "signalfd")) {
    read_signalfd();
  } else if (!strcmp(how, "exec")) {  // burns right up to exec; the new image must live
    burn();
    fflush(stdout);
    char* next[] = {argv[0], (char*)"start", NULL};
    execv(argv[0], next);
  } else if (!strcmp(how, "exec-blocked")) {  // nothing of ours pending in the new image
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn();
    fflush(stdout);
    char* next[] = {argv[0], (char*)"unblock", NULL};
    execv(argv[0], next);
  } else if (!strcmp(how, "exec-pending")) {  // its own signal is pending in the new image
    sigprocmask(SIG_BLOCK, &set, NULL);
    burn();
    raise(SIGPROF);
    fflush(stdout);
    char* next[] = {argv[0], (char*)"pending", NULL};
    execv(argv[0], next);
  } else if (!strcmp(how, "pending")) {
    struct timespec none = {0, 0};
    printf("taken: %d\n", sigtimedwait(&set, NULL, &none));
    burn();
  } else if (!strcmp(how, "fork-pending")) {  // a child begins without
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGPROF);
    if (fork() == 0) {
      sigset_t pending;
      sigpending(&pending);
      printf("child's: %d\n", sigismember(&pending, SIGPROF));
      fflush(stdout);
      _exit(0);
    }
    wait(NULL);
    burn();
  } else if (!strcmp(how, "one-set")) {
    one_set();
    burn();
  } else if (!strcmp(how, "sigset")) {  // System V's way
    sigset(SIGPROF, SIG_DFL);
    burn();
    sigset(SIGPROF, on_tick);
    work(20000);
    printf("ticks: %d\n", ticks);
    sigset(SIGPROF, SIG_HOLD);
    show_mask();
    printf("held: %d\n", sigset(SIGPROF, SIG_IGN) == SIG_HOLD);
    show_mask();
  } else if (!strcmp(how, "reset")) {
    reset_by_calls();
    burn();
  } else if (!strcmp(how, "unblock")) {
    show_mask();
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    burn();
  } else {
    return 2;
  }
  return 0;
}
