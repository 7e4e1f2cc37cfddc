// What programs do after they have confined themselves by seccomp. The filter allows what libc
// needs for that, and nothing of ours. argv[1]: kill (the forbidden kills) | errno (it fails)
// argv[2]: fault | abort | signal | actions | own-signal | profiling-signal | handler-later |
//          blocked-elsewhere, blocked-elsewhere-later (by another thread; the handler is set before
//          or later) |
//          wait-for-signal | thread | thread-with-mask | timer-thread | ends | close | descriptor |
//          fiber | signal-stack | first-process | refused (the filter is) |
//          mask (all is allowed) | unload | api (calls to the recorder) |
//          unnoticed-child (it ends; then its parent is killed) |
//          vfork (the child ends; then the program uses the recorder) |
//          unload-forking (a library argv[3] that forks then; all is allowed) |
//          dispatch, dispatch-by-number (no filter: the kernel sends system calls to a handler of
//          the program's)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(20); }

static int is_of(const char* how, const char* const* hows) {
  for (; *hows; ++hows)
    if (!strcmp(how, *hows)) return 1;
  return 0;
}

static void confine(unsigned verdict, const int* allowed) {
  struct sock_filter filter[128] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 1;
  for (; *allowed >= 0; ++allowed) {
    filter[length++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*allowed, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict);
  struct sock_fprog program = {length, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Of all threads.
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    exit(1);
  }
}

// A filter that the kernel does not take, for lack of the right to set one.
static int refused(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}};
  if (syscall(SYS_capset, &header, none) != 0) return 77;
  struct sock_filter filter = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {1, &filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return 1;
  printf("refused: %s\n", strerror(errno));
  for (int i = 0; i < 3000; ++i) counted();
  return 9;
}

static void say(const char* text) { (void)!write(1, text, strlen(text)); }

static volatile int may_go;
static void* works(void* unused) {
  for (int i = 0; i < 1000; ++i) counted();
  while (!may_go) {
  }
  return unused;
}
static void on_signal(int number) { say(number == SIGUSR1 ? "SIGUSR1\n" : "another\n"); }

// A selector in memory says whether system calls are the program's own.
static volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile int last_call = -1;
static void on_call(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  last_call = info->si_syscall;
}
static int dispatched(int is_by_number) {
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  // A range that ends before it begins: nothing changes.
  say(prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 8, -16, &selector) != 0 ? "refused\n"
                                                                                      : "taken\n");
  for (int i = 0; i < 3000; ++i) counted();
  const long failed =
      is_by_number
          ? syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector)
          : prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector);
  if (failed) return 77;
  selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  for (int i = 0; i < 3000; ++i) counted();
  const int before = last_call;
  getppid();
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  printf("unasked %d, asked %d\n", before, last_call == SYS_getppid);
  return 9;
}

static void* raises(void* unused) {
  raise(SIGPROF);
  sigset_t pending;
  sigpending(&pending);
  say(sigismember(&pending, SIGPROF) == 1 ? "pending\n" : "not pending\n");
  return unused;
}

static volatile int blocking_thread, is_sent, is_seen;
static void* waits_blocked(void* unused) {
  sigset_t profiling, pending;
  int came = 0;
  sigemptyset(&profiling);
  sigaddset(&profiling, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &profiling, NULL);
  blocking_thread = (int)syscall(SYS_gettid);
  while (!is_sent) {
  }
  sigpending(&pending);
  say(sigismember(&pending, SIGPROF) == 1 ? "pending\n" : "not pending\n");
  if (sigwait(&profiling, &came) == 0 && came == SIGPROF) say("came\n");
  is_seen = 1;
  for (;;) {
  }
  return unused;
}

static ucontext_t of_main, of_fiber;
static char fiber_stack[1 << 16] __attribute__((aligned(16))), signal_stack[4 << 20];
static void runs_in_fiber(void) {
  counted();
  say("fiber\n");
}

// What the recorder offers; 0 without it.
struct Recorder {
  void (*start)(void), (*stop)(void), (*flush)(void);
  int (*snapshot)(const char*), (*reset)(void);
  void* (*profile_new)(const char*);
  void* (*profile_with)(void*);
};
static struct Recorder find_recorder(void) {
  struct Recorder found = {0};
  *(void**)&found.start = dlsym(RTLD_DEFAULT, "fbleprof_start");
  *(void**)&found.stop = dlsym(RTLD_DEFAULT, "fbleprof_stop");
  *(void**)&found.flush = dlsym(RTLD_DEFAULT, "fbleprof_flush");
  *(void**)&found.snapshot = dlsym(RTLD_DEFAULT, "fbleprof_snapshot");
  *(void**)&found.reset = dlsym(RTLD_DEFAULT, "fbleprof_reset");
  *(void**)&found.profile_new = dlsym(RTLD_DEFAULT, "fbleprof_profile_new");
  *(void**)&found.profile_with = dlsym(RTLD_DEFAULT, "fbleprof_profile_with");
  return found;
}
static void use(const struct Recorder* recorder) {
  if (!recorder->start) return;
  recorder->stop();
  recorder->start();
  recorder->flush();
  recorder->snapshot("confined");
  void* before = recorder->profile_with(recorder->profile_new("confined"));
  counted();
  recorder->profile_with(before);
  recorder->reset();
}

static volatile int ticks;
static void on_tick(union sigval unused) {
  (void)unused;
  ticks = 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* how = argv[2];
  const unsigned verdict =
      !strcmp(argv[1], "errno") ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
  static const char* const kThreads[] = {"thread", "thread-with-mask", "timer-thread", "ends",
                                         NULL};
  static const char* const kSignals[] = {"signal", "actions", "own-signal", "handler-later", NULL};
  static const char* const kRaises[] = {"abort", "wait-for-signal", "thread-with-mask", NULL};
  int allowed[48], count = 0;
  const int always[] = {SYS_write, SYS_rt_sigreturn, SYS_exit_group};
  const int of_threads[] = {SYS_mmap,      SYS_munmap, SYS_mprotect,       SYS_madvise,
                            SYS_clone3,    SYS_clone,  SYS_futex,          SYS_set_robust_list,
                            SYS_rseq,      SYS_exit,   SYS_rt_sigprocmask, SYS_rt_sigaction,
                            SYS_getrandom, SYS_brk};
  const int of_signals[] = {SYS_kill, SYS_rt_sigaction};
  const int of_abort[] = {SYS_rt_sigprocmask, SYS_gettid, SYS_getpid, SYS_tgkill};
  const int of_waits[] = {SYS_rt_sigtimedwait, SYS_rt_sigpending};
  const int of_timers[] = {SYS_timer_settime, SYS_clock_nanosleep, SYS_rt_sigtimedwait};
  const int of_blocking[] = {SYS_rt_sigaction, SYS_tgkill, SYS_rt_sigpending, SYS_rt_sigtimedwait};
  const int of_others[] = {SYS_execveat, SYS_sigaltstack};
#define ALLOW(list) \
  for (unsigned i = 0; i < sizeof list / sizeof *list; ++i) allowed[count++] = list[i]
  ALLOW(always);
  if (is_of(how, kThreads)) ALLOW(of_threads);
  if (is_of(how, kSignals)) ALLOW(of_signals);
  if (is_of(how, kRaises)) ALLOW(of_abort);
  if (is_of(how, kRaises)) ALLOW(of_waits);
  if (!strcmp(how, "timer-thread")) ALLOW(of_timers);
  const int is_blocked_elsewhere = !strncmp(how, "blocked-elsewhere", 17);
  if (is_blocked_elsewhere) ALLOW(of_blocking);
  if (!strcmp(how, "profiling-signal")) allowed[count++] = SYS_kill;
  if (!strcmp(how, "fiber")) allowed[count++] = SYS_rt_sigprocmask;
  ALLOW(of_others);
  if (!strcmp(how, "close")) allowed[count++] = SYS_close;
  const int of_unloading[] = {SYS_munmap, SYS_mprotect, SYS_futex, SYS_close, SYS_brk};
  if (!strcmp(how, "unload")) ALLOW(of_unloading);
  if (!strcmp(how, "vfork")) allowed[count++] = SYS_vfork;
  const int of_children[] = {SYS_fork, SYS_wait4, SYS_kill};
  if (!strcmp(how, "unnoticed-child")) ALLOW(of_children);
  allowed[count] = -1;

  if (!strcmp(how, "refused")) return refused();
  if (!strncmp(how, "dispatch", 8)) return dispatched(!strcmp(how, "dispatch-by-number"));
  if (!strcmp(how, "own-signal") || !strcmp(how, "blocked-elsewhere")) signal(SIGPROF, on_signal);
  if (!strcmp(how, "first-process")) {
    if (unshare(CLONE_NEWPID) != 0) return 77;
    fflush(stdout);
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      printf("the first process: %x\n", (unsigned)status);
      return 0;
    }
  }
  const pid_t self = getpid();
  pthread_t thread;
  int ends[2];
  void* result = NULL;
  if (pipe(ends) != 0) return 1;
  if (!strcmp(how, "ends")) pthread_create(&thread, NULL, works, ends);
  if (is_blocked_elsewhere) {
    if (pthread_create(&thread, NULL, waits_blocked, NULL) != 0) return 1;
    while (blocking_thread == 0) {
    }
  }
  sigset_t profiling;
  sigemptyset(&profiling);
  sigaddset(&profiling, SIGPROF);
  static const char* const kBlocks[] = {"wait-for-signal", "thread-with-mask", "mask", NULL};
  if (is_of(how, kBlocks)) sigprocmask(SIG_BLOCK, &profiling, NULL);
  const int not_executable = open("/dev/null", O_RDONLY);
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_tick};
  timer_t timer;
  if (!strcmp(how, "timer-thread") && timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return 1;
  getcontext(&of_fiber);
  of_fiber.uc_stack.ss_sp = fiber_stack;
  of_fiber.uc_stack.ss_size = sizeof fiber_stack;
  of_fiber.uc_link = &of_main;
  makecontext(&of_fiber, runs_in_fiber, 0);
  for (int i = 0; i < 3000; ++i) counted();
  void* library = dlopen(argc > 3 ? argv[3] : "libresolv.so.2", RTLD_NOW);
  const struct Recorder recorder = find_recorder();
  fflush(stdout);
  static const char* const kAllAllowed[] = {"mask", "unload-forking", NULL};
  confine(is_of(how, kAllAllowed) ? SECCOMP_RET_ALLOW : verdict, allowed);
  for (int i = 0; i < 3000; ++i) counted();
  say("confined\n");
  if (!strcmp(how, "fault") || !strcmp(how, "first-process")) *(volatile int*)0 = 1;
  if (!strcmp(how, "own-signal")) kill(self, SIGPROF);
  if (!strcmp(how, "profiling-signal")) kill(self, SIGPROF);
  if (!strcmp(how, "handler-later")) {
    signal(SIGPROF, on_signal);
    kill(self, SIGPROF);
  }
  if (is_blocked_elsewhere) {
    if (!strcmp(how, "blocked-elsewhere-later")) signal(SIGPROF, on_signal);
    syscall(SYS_tgkill, self, blocking_thread, SIGPROF);
    is_sent = 1;
    while (!is_seen) {
    }
    syscall(SYS_tgkill, self, self, SIGPROF);
  }
  if (!strcmp(how, "wait-for-signal")) {
    int came = 0;
    raise(SIGPROF);
    if (sigwait(&profiling, &came) == 0 && came == SIGPROF) say("came\n");
  }
  if (!strcmp(how, "mask")) {
    execlp("env", "env", "-u", "LD_PRELOAD", "grep", "SigBlk", "/proc/self/status", NULL);
  }
  if (!strcmp(how, "descriptor")) {
    char* nothing[] = {"nothing", NULL};
    if (fexecve(not_executable, nothing, nothing + 1) != 0) say("not executed\n");
  }
  if (!strcmp(how, "fiber")) swapcontext(&of_main, &of_fiber);
  if (!strcmp(how, "signal-stack")) {
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    if (sigaltstack(&stack, NULL) == 0) say("changed\n");
  }
  if (!strcmp(how, "timer-thread")) {
    const struct itimerspec soon = {.it_value = {0, 1000000}};
    const struct timespec step = {0, 1000000};
    timer_settime(timer, 0, &soon, NULL);
    for (int i = 0; i < 5000 && !ticks; ++i) nanosleep(&step, NULL);
    say(ticks ? "ticked\n" : "no tick\n");
    _exit(9);
  }
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "signal")) kill(self, SIGTERM);
  if (!strcmp(how, "actions")) {
    signal(SIGUSR1, on_signal);
    kill(self, SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    kill(self, SIGUSR1);
  }
  void* (*const function)(void*) = !strcmp(how, "thread") ? works : raises;
  if (strcmp(how, "ends") && is_of(how, kThreads) &&
      pthread_create(&thread, NULL, function, ends) != 0) {
    say("no thread\n");
  }
  if (is_of(how, kThreads)) {
    may_go = 1;
    if (pthread_join(thread, &result) == 0 && result == ends) say("joined\n");
  }
  if (!strcmp(how, "unload")) say(dlclose(library) == 0 ? "unloaded\n" : "not unloaded\n");
  if (!strcmp(how, "unload-forking")) {
    dlclose(library);
    if (getpid() != self) _exit(7);
    return 0;
  }
  if (!strcmp(how, "api")) use(&recorder);
  if (!strcmp(how, "vfork")) {
    const pid_t child = vfork();
    if (child == 0) _exit(5);
    if (recorder.snapshot && recorder.snapshot("after a child") != 0) say("no snapshot\n");
  }
  if (!strcmp(how, "unnoticed-child")) {
    long child;
    __asm__ volatile("syscall" : "=a"(child) : "a"(SYS_fork) : "rcx", "r11", "memory");
    if (child == 0) _exit(5);
    syscall(SYS_wait4, child, NULL, 0, NULL);
    counted();
    kill(self, SIGKILL);
  }
  if (!strcmp(how, "close")) {
    close(ends[0]);
    close(ends[1]);
    say("closed\n");
  }
  _exit(9);
}
