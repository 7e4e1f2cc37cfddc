// System calls about signals, waits and programs with addresses that are no memory: they fail with
// EFAULT.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wnonnull"

static void show(const char* what, long result) {
  printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
  errno = 0;
}

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static const char* action_of(int number) {
  struct KernelAction action;
  if (syscall(SYS_rt_sigaction, number, NULL, &action, 8) != 0) return "unknown";
  return action.handler == SIG_IGN ? "ignored" : action.handler == SIG_DFL ? "default" : "handled";
}

static void actions(int number, void* nowhere, const void* text) {
  struct KernelAction ignored = {SIG_IGN, 0, NULL, 0}, old;
  printf("signal %d\n", number);
  show("new action", syscall(SYS_rt_sigaction, number, nowhere, NULL, 8));
  show("new action, old one wanted", syscall(SYS_rt_sigaction, number, nowhere, &old, 8));
  show("old action", syscall(SYS_rt_sigaction, number, NULL, nowhere, 8));
  show("old action, read-only", syscall(SYS_rt_sigaction, number, NULL, text, 8));
  printf("action: %s\n", action_of(number));
  // The kernel sets the new action before it fails to tell the old one.
  show("old action, new one set", syscall(SYS_rt_sigaction, number, &ignored, nowhere, 8));
  printf("action: %s\n", action_of(number));
}

int main(int argc, char** argv) {
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* nowhere = argc > 1 ? page : page + 64;
  const int numbers[] = {SIGPROF, SIGTERM, SIGBUS, SIGRTMIN, SIGUSR2, SIGCHLD};
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; ++i) actions(numbers[i], nowhere, "");
  const struct timespec now = {0, 0};
  struct epoll_event event;
  struct pollfd none = {-1, 0, 0};
  const int epoll = epoll_create1(0);
  show("sigsuspend", sigsuspend(nowhere));
  show("ppoll", ppoll(&none, 1, &now, nowhere));
  show("pselect", pselect(0, NULL, NULL, NULL, &now, nowhere));
  show("epoll_pwait", epoll_pwait(epoll, &event, 1, 0, nowhere));
  show("epoll_pwait2", epoll_pwait2(epoll, &event, 1, &now, nowhere));
  show("sigtimedwait", sigtimedwait(nowhere, NULL, &now));
  show("sigwaitinfo", sigwaitinfo(nowhere, NULL));
  show("signalfd", signalfd(-1, nowhere, 0));
  show("sigaltstack", sigaltstack(nowhere, NULL));
  show("execve", syscall(SYS_execve, "/bin/true", argv, nowhere));
  show("execve, path", syscall(SYS_execve, nowhere, argv, NULL));
  show("execveat", syscall(SYS_execveat, -1, "/bin/true", nowhere, nowhere, 0));
  show("rt_sigprocmask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, nowhere, NULL, 8));
  return 0;
}
