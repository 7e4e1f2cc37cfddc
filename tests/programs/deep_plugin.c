// A plugin that calls libc: threads, signals, children and their ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

static int seen, runs;
BLOCK void on_signal(int number) { seen += number == SIGUSR2; }
BLOCK void* in_thread(void* unused) {
  work(2000);
  return unused;
}

BLOCK void run_plugin(void (*callback)(void)) {
  callback();
  if (++runs % 500 != 0) return;
  struct sigaction action = {.sa_handler = on_signal}, before;
  sigaction(SIGUSR2, &action, &before);
  raise(SIGUSR2);
  pthread_t thread;
  if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
  fflush(stdout);
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    in_thread(NULL);
    _exit(4);
  }
  waitpid(child, &status, 0);
  printf("child %d, ", WEXITSTATUS(status));
  fflush(stdout);
  const pid_t other = fork();
  if (other == 0) {
    execl("/bin/sh", "sh", "-c", "exit 5", NULL);
    _exit(99);
  }
  waitpid(other, &status, 0);
  printf("program %d, signals %d\n", WEXITSTATUS(status), seen);
}
