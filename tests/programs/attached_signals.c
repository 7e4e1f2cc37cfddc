/* Usage: attached_signals WAY GO: computes until the file GO exists, uses SIGPROF in this way, says
 * so, and computes until the file GO.end exists. Prints what it sees of its own actions and
 * signals. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void compute(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
           seconds);
}

__attribute__((noinline)) static void afterwards(const char* end) {
  compute(0.4);
  while (access(end, F_OK) != 0) compute(0.01);
}

static volatile sig_atomic_t raised;
static void on_signal(int number) { raised += number == SIGPROF; }

static const char* name_of(void (*handler)(int)) {
  return handler == SIG_DFL     ? "default"
         : handler == SIG_IGN   ? "ignored"
         : handler == on_signal ? "own"
                                : "other";
}
static void say(const char* when) {
  struct sigaction action;
  sigaction(SIGPROF, NULL, &action);
  printf("%s: %s, flags %x, masks SIGUSR1: %d\n", when, name_of(action.sa_handler),
         (unsigned)action.sa_flags, sigismember(&action.sa_mask, SIGUSR1));
  fflush(stdout);
}

static void on_bus(int number) {
  (void)number;
  _exit(9);
}
static void set_bus(void) {
  struct sigaction action = {0}, old;
  action.sa_handler = on_bus;
  sigaction(SIGBUS, &action, &old);
  printf("before: %s\n", name_of(old.sa_handler));
  sigaction(SIGBUS, NULL, &action);
  printf("the handler is its own: %d\n", action.sa_handler == on_bus);
}

static void set(void (*handler)(int)) {
  struct sigaction action, old;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, SIGUSR1);
  sigaction(SIGPROF, &action, &old);
  printf("before: %s\n", name_of(old.sa_handler));
}

/* As a shell does before it starts a program. */
static void set_all_to_default(void) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
}

static void* set_in_thread(void* unused) {
  set_all_to_default();
  compute(0.3);
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  char end[4096];
  snprintf(end, sizeof end, "%s.end", argv[2]);
  const char* way = argv[1];
  while (access(argv[2], F_OK) != 0) compute(0.01);
  if (strcmp(way, "default") == 0) set_all_to_default();
  if (strcmp(way, "ignored") == 0) set(SIG_IGN);
  if (strcmp(way, "own") == 0) set(on_signal);
  if (strcmp(way, "twice") == 0) set(on_signal), set(SIG_DFL);
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, set_in_thread, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  if (strcmp(way, "bad") == 0) {
    printf("bad: %ld %ld\n", syscall(SYS_rt_sigaction, SIGPROF, (void*)8, NULL, 8UL),
           syscall(SYS_rt_sigaction, SIGPROF, NULL, NULL, 4UL));
  }
  if (strcmp(way, "child") == 0 || strcmp(way, "vfork") == 0) {
    const pid_t child = strcmp(way, "child") == 0 ? fork() : vfork();
    int status = -1;
    if (child == 0) {
      signal(SIGPROF, SIG_DFL);
      if (strcmp(way, "child") == 0) compute(0.3);
      _exit(7);
    }
    if (waitpid(child, &status, 0) != child || status != 7 << 8) puts("the child died");
  }
  if (strcmp(way, "bus") == 0) set_bus();
  if (strcmp(way, "raw") == 0) { /* not by a function of libc */
    struct {
      void (*handler)(int);
      unsigned long flags, restorer, mask;
    } action = {SIG_IGN, 0, 0, 0};
    long result;
    register long bytes __asm__("r10") = sizeof action.mask;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_rt_sigaction), "D"(SIGPROF), "S"(&action), "d"(0), "r"(bytes)
                     : "rcx", "r11", "memory");
    if (result != 0) return 1;
  }
  if (strcmp(way, "blocked") == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
  }
  say("set");
  const int sends = strcmp(way, "own") == 0 || strcmp(way, "ignored") == 0;
  if (sends) raise(SIGPROF);
  afterwards(end);
  if (sends) raise(SIGPROF);
  say("at the end");
  printf("raised %d\n", (int)raised);
  return 42;
}
