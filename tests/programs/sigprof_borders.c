// SIGPROF where the program's view of it could leave its process, thread or stack. argv[1]: vfork |
// exec | spawn | masks | at-once | handler | stack | first-process.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "block.h"

static volatile sig_atomic_t ticks;
static void on_tick(int number) {
  (void)number;
  ++ticks;
}
BLOCK void burn(void) {
  for (int i = 0; i < 30; ++i) work(1000);
}

static void show_mask(const char* whose) {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  printf("%s:", whose);
  for (int i = 1; i < 65; ++i)
    if (sigismember(&mask, i) == 1) printf(" %d", i);
  printf("\n");
}
static void show(const char* when, int status) {
  struct sigaction action;
  sigset_t pending;
  sigaction(SIGPROF, NULL, &action);
  sigpending(&pending);
  printf("%s: status %x, %s, ticks %d, pending %d\n", when, (unsigned)status,
         action.sa_handler == SIG_DFL   ? "default"
         : action.sa_handler == SIG_IGN ? "ignored"
         : action.sa_handler == on_tick ? "handled"
                                        : "other",
         ticks, sigismember(&pending, SIGPROF));
  show_mask("mask");
}

static sigset_t only_prof(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  return set;
}

// What a child of vfork does with the signal, in its parent's memory.
static void set_default(void) { signal(SIGPROF, SIG_DFL); }
static void ignore(void) { signal(SIGPROF, SIG_IGN); }
static void reset_like_python(void) {
  struct sigaction action;
  for (int i = 1; i < 65; ++i) {
    if (sigaction(i, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
        action.sa_handler == SIG_IGN) {
      continue;
    }
    if (action.sa_handler != on_tick) _exit(5);
    memset(&action, 0, sizeof action);
    sigaction(i, &action, NULL);
  }
}
static void block_all(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
}
static void block_and_raise(void) {
  const sigset_t set = only_prof();
  sigset_t pending;
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGPROF);
  sigpending(&pending);
  if (sigismember(&pending, SIGPROF) != 1) _exit(8);
}
static void unblock_and_block(void) {
  const sigset_t set = only_prof();
  sigset_t mask;
  sigprocmask(SIG_UNBLOCK, &set, &mask);
  if (sigismember(&mask, SIGPROF) != 1) _exit(7);
  sigprocmask(SIG_BLOCK, NULL, &mask);
  if (sigismember(&mask, SIGPROF) == 1) _exit(6);
}
static void raise_it(void) { raise(SIGPROF); }
static void die_of_it(void) { set_default(), raise(SIGPROF); }

static void in_child(const char* what, void (*change)(void)) {
  int status = 0;
  const pid_t child = vfork();
  if (child == 0) {
    change();
    _exit(0);
  }
  waitpid(child, &status, 0);
  burn();
  show(what, status);
}
static void in_children(void) {
  in_child("default", set_default);
  in_child("ignore", ignore);
  in_child("reset", reset_like_python);
  in_child("block all", block_all);
  in_child("block and raise", block_and_raise);
  in_child("die", die_of_it);
}
BLOCK void children_of_vfork(void) {
  signal(SIGPROF, on_tick);
  in_children();
  in_child("raise", raise_it);
  raise(SIGPROF);
  show("own", 0);
  const sigset_t set = only_prof();
  sigprocmask(SIG_BLOCK, &set, NULL);
  in_children();
  in_child("unblock", unblock_and_block);
  raise(SIGPROF);
  show("own, blocked", 0);
  in_child("raise, blocked", raise_it);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  signal(SIGPROF, SIG_IGN);
  in_children();
  signal(SIGPROF, SIG_DFL);
  in_children();
}

// What the program that a child of vfork executes begins with.
static void executed(const char* what) {
  char* arguments[] = {"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", NULL};
  char* environment[] = {NULL};
  printf("%s\n", what);
  fflush(stdout);
  int status = 0;
  const pid_t child = vfork();
  if (child == 0) {
    execve("/none", arguments, environment);
    execve("/bin/grep", arguments, environment);
    _exit(9);
  }
  waitpid(child, &status, 0);
  burn();
  show("then", status);
}
BLOCK void programs_of_vfork(void) {
  const sigset_t set = only_prof();
  executed("as it began");
  sigprocmask(SIG_BLOCK, &set, NULL);
  executed("blocked");
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  signal(SIGPROF, SIG_IGN);
  executed("ignored");
  signal(SIGPROF, on_tick);
  executed("handled");
}

// The same of programs that libc starts.
static void spawned(const char* what) {
  char* arguments[] = {"grep", "SigBlk", "/proc/self/status", NULL};
  char* environment[] = {NULL};
  const char* command = "exec env -i grep SigBlk /proc/self/status";
  posix_spawnattr_t attributes;
  const sigset_t set = only_prof();
  pid_t child = 0;
  int status = 0;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigdefault(&attributes, &set);
  for (int how = 0; how < 3; ++how) {
    printf("spawned %s %d\n", what, how);
    fflush(stdout);
    if (how == 0) posix_spawn(&child, "/bin/grep", NULL, NULL, arguments, environment);
    if (how == 1) posix_spawnp(&child, "grep", NULL, &attributes, arguments, environment);
    if (how == 2) posix_spawn(&child, "/none", NULL, NULL, arguments, environment);
    if (how < 2) waitpid(child, &status, 0);
    burn();
    show("then", status);
  }
  char line[100];
  FILE* shell = popen(command, "r");
  while (shell && fgets(line, sizeof line, shell)) printf("popen: %s", line);
  printf("ended %d\n", pclose(shell));
  burn();
  printf("system\n");
  fflush(stdout);
  status = system("exec env -i grep SigBlk /proc/self/status");
  burn();
  show("then", status);
  wordexp_t words = {0};
  status = wordexp("$(exec env -i grep SigBlk /proc/self/status)", &words, 0);
  for (size_t i = 0; i < words.we_wordc; ++i) printf("wordexp: %s\n", words.we_wordv[i]);
  wordfree(&words);
  burn();
  show("then", status);
}
BLOCK void programs_of_libc(void) {
  const sigset_t set = only_prof();
  spawned("as it began");
  sigprocmask(SIG_BLOCK, &set, NULL);
  spawned("blocked");
  raise(SIGPROF);
  spawned("pending");
  signal(SIGPROF, SIG_IGN);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  spawned("ignored");
  signal(SIGPROF, on_tick);
  spawned("handled");
}

static void* show_own_mask(void* whose) {
  show_mask(whose);
  return NULL;
}
static void thread_with(const pthread_attr_t* attributes, const char* whose) {
  pthread_t thread;
  pthread_create(&thread, attributes, show_own_mask, (void*)whose);
  pthread_join(thread, NULL);
}
BLOCK void masks_of_threads(void) {
  pthread_attr_t attributes;
  sigset_t none, some, all;
  sigemptyset(&none);
  sigfillset(&all);
  some = only_prof();
  sigaddset(&some, SIGUSR1);
  pthread_attr_init(&attributes);
  for (int i = 0; i < 2; ++i) {
    show_mask("creator");
    thread_with(NULL, "inherits");
    pthread_attr_setsigmask_np(&attributes, &all);
    thread_with(&attributes, "all");
    pthread_attr_setsigmask_np(&attributes, &none);
    thread_with(&attributes, "none");
    pthread_attr_setsigmask_np(&attributes, NULL);
    thread_with(&attributes, "inherits, too");
    pthread_sigmask(SIG_BLOCK, &some, NULL);
  }
}

// A thread that waits for the signal, which comes before the thread's first instruction and, later,
// between its looks and its waits.
enum { kThreads = 300, kSignals = 50 };
static volatile int answered;
static void* answer(void* unused) {
  const sigset_t set = only_prof();
  const struct timespec limit = {30, 0};
  for (int i = 0; i < kSignals; ++i) {
    int got = 0;
    if (i % 2 ? sigwait(&set, &got) != 0 : (got = sigtimedwait(&set, NULL, &limit)) < 0) {
      perror("wait");
    }
    if (got != SIGPROF) printf("got %d\n", got);
    __atomic_fetch_add(&answered, 1, __ATOMIC_SEQ_CST);
  }
  return unused;
}
BLOCK void signals_at_once(void) {
  const sigset_t set = only_prof();
  int lost = 0;
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    for (int j = 0; j < kSignals; ++j) {
      const int before = answered;
      pthread_kill(thread, SIGPROF);
      const time_t begin = time(NULL);
      while (answered == before && time(NULL) < begin + 3) sched_yield();
      if (answered != before) continue;
      ++lost;  // the kernel drops one for a thread where a sample is pending
      --j;
    }
    pthread_join(thread, NULL);
  }
  printf("answered %d, few were lost: %d\n", answered, lost <= 3);
}

// A handler that needs more than the signal stack, on the stack that it asked for.
static char signal_stack[16384] __attribute__((aligned(4096)));
static volatile int on_signal_stack;
__attribute__((noinline)) static int need_stack(int depth) {
  volatile char page[4096];
  memset((char*)page, depth, sizeof page);
  return depth ? need_stack(depth - 1) + page[9] : page[7];
}
static void on_large(int number) {
  (void)number;
  stack_t now;
  sigaltstack(NULL, &now);
  on_signal_stack += (now.ss_flags & SS_ONSTACK) != 0;
  ++ticks;
  if (!on_signal_stack) need_stack(40);
}
BLOCK void stacks_of_handlers(void) {
  const stack_t stack = {signal_stack, 0, sizeof signal_stack};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_large};
  const int flags[] = {0, (int)SA_RESETHAND, SA_ONSTACK, SA_ONSTACK | (int)SA_RESETHAND, 0};
  for (int i = 0; i < 5; ++i) {
    action.sa_flags = flags[i];
    on_signal_stack = 0;
    sigaction(SIGPROF, &action, NULL);
    raise(SIGPROF);
    burn();
    printf("flags %x: ticks %d, on the signal stack %d\n", (unsigned)flags[i], ticks,
           on_signal_stack);
  }
}

// A handler that blocks all signals for a moment, as libraries that walk stacks do.
static volatile int depth, deepest;
static void on_saved_mask(int number) {
  sigset_t all, before;
  sigfillset(&all);
  sigemptyset(&before);
  if (++depth > deepest) deepest = depth;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  work(100);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (number == SIGUSR1) kill(getpid(), SIGPROF);  // it comes when this handler ends
  if (sigismember(&before, SIGPROF) != 1) printf("not blocked in the handler\n");
  ++ticks;
  --depth;
}
BLOCK void masks_of_handlers(void) {
  struct sigaction action = {.sa_handler = on_saved_mask};
  sigaction(SIGPROF, &action, NULL);
  sigaddset(&action.sa_mask, SIGPROF);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 50; ++i) raise(i % 5 ? SIGPROF : SIGUSR1);
  printf("ticks %d, deepest %d\n", ticks, deepest);
  show("after handlers", 0);
  struct itimerval timer = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_PROF, &timer, NULL);
  // On a busy machine, the kernel's ticks rarely meet a program that is sampled.
  for (int i = 0; i < 100 && ticks <= 62; ++i) burn();
  timer = (struct itimerval){{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &timer, NULL);
  printf("the timer's came: %d, deepest %d\n", ticks > 62, deepest);
}

// The kernel does not send the first process of a namespace what it has no handler for.
static void first_process(void) {
  if (unshare(CLONE_NEWPID) != 0) {
    perror("unshare");
    exit(77);
  }
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGUSR2, on_tick);
    if (fork() == 0) {
      usleep(100000);
      const int numbers[] = {SIGTERM, SIGUSR1, SIGALRM, SIGRTMIN};
      for (int i = 0; i < 4; ++i) kill(1, numbers[i]);
      _exit(0);
    }
    const struct timespec time = {0, 300000000};
    const int result = nanosleep(&time, NULL);
    printf("slept: %d %s\n", result, result ? strerror(errno) : "");
    wait(NULL);
    raise(SIGUSR2);
    burn();
    show("first process", getpid());
    exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  burn();
  show("its parent", status);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "vfork")) children_of_vfork();
  if (!strcmp(how, "exec")) programs_of_vfork();
  if (!strcmp(how, "spawn")) programs_of_libc();
  if (!strcmp(how, "masks")) masks_of_threads();
  if (!strcmp(how, "at-once")) signals_at_once();
  if (!strcmp(how, "handler")) masks_of_handlers();
  if (!strcmp(how, "stack")) stacks_of_handlers();
  if (!strcmp(how, "first-process")) first_process();
  return 0;
}
