// What programs do after they have confined themselves by seccomp. The filter allows what libc
// needs for that, and nothing of ours. argv[1]: kill (the forbidden kills) | errno (it fails)
// argv[2]: fault | abort | signal | actions | own-signal | thread | ends | close | first-process |
//          dispatch (no filter: the kernel sends system calls to a handler of the program's)
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
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
#include <unistd.h>

#include "block.h"

BLOCK void counted(void) { work(20); }

static int is_of(const char* how, const char* const* hows) {
  for (; *hows; ++hows)
    if (!strcmp(how, *hows)) return 1;
  return 0;
}

static void confine(unsigned verdict, const int* allowed) {
  struct sock_filter filter[64] = {
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
static int dispatched(void) {
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  // A range that ends before it begins: nothing changes.
  say(prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 8, -16, &selector) != 0 ? "refused\n"
                                                                                      : "taken\n");
  for (int i = 0; i < 3000; ++i) counted();
  if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) != 0) return 77;
  selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  for (int i = 0; i < 3000; ++i) counted();
  const int before = last_call;
  getppid();
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  printf("unasked %d, asked %d\n", before, last_call == SYS_getppid);
  return 9;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* how = argv[2];
  const unsigned verdict =
      !strcmp(argv[1], "errno") ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
  static const char* const kThreads[] = {"thread", "ends", NULL};
  static const char* const kSignals[] = {"signal", "actions", "own-signal", NULL};
  int allowed[32], count = 0;
  const int always[] = {SYS_write, SYS_rt_sigreturn, SYS_exit_group};
  const int of_threads[] = {SYS_mmap,      SYS_munmap, SYS_mprotect,       SYS_madvise,
                            SYS_clone3,    SYS_clone,  SYS_futex,          SYS_set_robust_list,
                            SYS_rseq,      SYS_exit,   SYS_rt_sigprocmask, SYS_rt_sigaction,
                            SYS_getrandom, SYS_brk};
  const int of_signals[] = {SYS_kill, SYS_rt_sigaction};
  const int of_abort[] = {SYS_rt_sigprocmask, SYS_gettid, SYS_getpid, SYS_tgkill};
#define ALLOW(list) \
  for (unsigned i = 0; i < sizeof list / sizeof *list; ++i) allowed[count++] = list[i]
  ALLOW(always);
  if (is_of(how, kThreads)) ALLOW(of_threads);
  if (is_of(how, kSignals)) ALLOW(of_signals);
  if (!strcmp(how, "abort")) ALLOW(of_abort);
  if (!strcmp(how, "close")) allowed[count++] = SYS_close;
  allowed[count] = -1;

  if (!strcmp(how, "dispatch")) return dispatched();
  if (!strcmp(how, "own-signal")) signal(SIGPROF, on_signal);
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
  for (int i = 0; i < 3000; ++i) counted();
  fflush(stdout);
  confine(verdict, allowed);
  for (int i = 0; i < 3000; ++i) counted();
  say("confined\n");
  if (!strcmp(how, "fault") || !strcmp(how, "first-process")) *(volatile int*)0 = 1;
  if (!strcmp(how, "own-signal")) kill(self, SIGPROF);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "signal")) kill(self, SIGTERM);
  if (!strcmp(how, "actions")) {
    signal(SIGUSR1, on_signal);
    kill(self, SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    kill(self, SIGUSR1);
  }
  if (!strcmp(how, "thread") && pthread_create(&thread, NULL, works, ends) != 0) say("no thread\n");
  if (is_of(how, kThreads)) {
    may_go = 1;
    if (pthread_join(thread, &result) == 0 && result == ends) say("joined\n");
  }
  if (!strcmp(how, "close")) {
    close(ends[0]);
    close(ends[1]);
    say("closed\n");
  }
  _exit(9);
}
