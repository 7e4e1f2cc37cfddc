// fork_descriptors [fork|_Fork|clone|syscall]: forks while threads start, and asks each child which
// descriptors it has.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;

static void* nothing(void* argument) { return argument; }
static void* start_threads(void* argument) {
  while (!stop) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
  }
  return argument;
}
static int has_event(void) {
  for (int fd = 3; fd < 64; ++fd) {
    char path[64], target[128];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const long length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    if (strstr(target, "perf_event")) return 1;
  }
  return 0;
}

static int child(void* unused) {
  (void)unused;
  _exit(has_event());
}
static pid_t child_made_by(const char* how) {
  static _Alignas(16) char stack[1 << 16];
  if (!strcmp(how, "clone")) return clone(child, stack + sizeof stack, SIGCHLD, NULL);
  const pid_t pid = !strcmp(how, "_Fork")     ? _Fork()
                    : !strcmp(how, "syscall") ? (pid_t)syscall(SYS_fork)
                                              : fork();
  if (pid == 0) child(NULL);
  return pid;
}

int main(int argc, char** argv) {
  pthread_t makers[2];
  for (int i = 0; i < 2; ++i) pthread_create(&makers[i], NULL, start_threads, NULL);
  int with_event = 0;
  for (int i = 0; i < 300; ++i) {
    const pid_t pid = child_made_by(argc > 1 ? argv[1] : "fork");
    int status;
    waitpid(pid, &status, 0);
    with_event += WEXITSTATUS(status) != 0;
  }
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(makers[i], NULL);
  printf("children with a descriptor of an event: %d\n", with_event);
  return 0;
}
