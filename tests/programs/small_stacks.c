// Forks in a thread, or a coroutine, that has the smallest stack a thread may have:
// small_stacks thread|coroutine. The child computes for a while.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"

enum { kGuard = 4096, kStack = 16384 };

static int status;

BLOCK void compute(void) {
  struct timespec now;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  while (now.tv_sec == 0 && now.tv_nsec < 50000000);
}

BLOCK void make_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    compute();
    _exit(5);
  }
  waitpid(child, &status, 0);
}

UNHOOKED static void* thread(void* argument) {
  make_child();
  return argument;
}

int main(int argc, char** argv) {
  char* stack =
      mmap(NULL, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return 2;
  mprotect(stack, kGuard, PROT_NONE);
  if (argc > 1 && strcmp(argv[1], "coroutine") == 0) {
    ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack + kGuard;
    there.uc_stack.ss_size = kStack;
    there.uc_link = &here;
    makecontext(&there, make_child, 0);
    swapcontext(&here, &there);
  } else {
    pthread_t id;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack + kGuard, kStack);
    if (pthread_create(&id, &attributes, thread, NULL) != 0) return 3;
    pthread_join(id, NULL);
  }
  printf("child: %x\n", status);
  return 0;
}
