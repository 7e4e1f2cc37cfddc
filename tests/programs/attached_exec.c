/* Usage: attached_exec WAY GO: computes until the file GO exists, the last moments with all signals
 * blocked, and becomes another program in this way, which unblocks them and says so. "fails": exec
 * fails, and it computes on for half a second. "keeps_failing": so it does again and again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

__attribute__((noinline)) static void compute(double seconds) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
           seconds);
}

__attribute__((noinline)) static void after_exec(void) {
  compute(0.5);
  __asm__ volatile(""); /* no tail call */
}

static char* const next[] = {"attached_exec", "next", NULL};
static const char self[] = "/proc/self/exe";

static void* exec_in_thread(void* unused) {
  execv(self, next);
  return unused;
}

static int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

static int become(const char* way) {
  pid_t child;
  if (strcmp(way, "execve") == 0) return execve(self, next, environ);
  if (strcmp(way, "execvp") == 0) return execvp(self, next);
  if (strcmp(way, "execl") == 0) return execl(self, next[0], next[1], (char*)NULL);
  if (strcmp(way, "fexecve") == 0) return fexecve(open(self, O_RDONLY), next, environ);
  if (strcmp(way, "execveat") == 0) return execveat(AT_FDCWD, self, next, environ, 0);
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, exec_in_thread, NULL) == 0) pthread_join(thread, NULL);
    return -1;
  }
  if (strcmp(way, "spawn") == 0) {
    return posix_spawn(&child, self, NULL, NULL, next, environ) == 0 ? status_of(child) : -1;
  }
  if (strcmp(way, "system") == 0) return system("exit 0");
  if (strcmp(way, "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      execve("/does/not/exist", next, environ);
      execve(self, next, environ);
      _exit(1);
    }
    return status_of(child);
  }
  for (int i = 0; i < 20; ++i) {
    errno = 0;
    if (execve("/does/not/exist", next, environ) != -1 || errno != ENOENT) return -1;
    if (execveat(-1, "none", next, environ, 0) != -1 || errno != EBADF) return -1;
    if (fexecve(1000, next, environ) != -1 || errno != EBADF) return -1;
  }
  return 0;
}

int main(int argc, char** argv) {
  sigset_t all, old, was_blocked;
  sigfillset(&all);
  if (argc == 2) {
    sigprocmask(SIG_UNBLOCK, &all, &was_blocked);
    printf("next, SIGPROF %s\n", sigismember(&was_blocked, SIGPROF) ? "blocked" : "open");
    return 0;
  }
  const int keeps_failing = strcmp(argv[1], "keeps_failing") == 0;
  while (access(argv[2], F_OK) != 0) {
    compute(keeps_failing ? 0.001 : 0.01);
    if (keeps_failing && execve("/does/not/exist", next, environ) != -1) return 1;
  }
  sigprocmask(SIG_BLOCK, &all, &old);
  compute(0.05);
  const int status = become(argv[1]);
  sigprocmask(SIG_SETMASK, &old, NULL);
  after_exec();
  puts(status == 0 ? "went on" : "exec failed");
  return status == 0 ? 0 : 1;
}
