// small_stacks thread|coroutine|moved: in a thread, or a coroutine, with the smallest stack that a
// thread may have, forks a child, which computes for a while; or goes on in a context that another
// thread began 2000 blocks deep.
#define _GNU_SOURCE
#include <fbleprof/fbleprof.h>
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

enum { kBlocks = 2000 };
static fbleprof_block blocks[kBlocks], moved;
static fbleprof_context* context;

UNHOOKED static void* goes_on(void* argument) {
  fbleprof_context_switch(context);
  fbleprof_enter(moved);
  fbleprof_leave(moved);
  fbleprof_context_switch(NULL);
  return argument;
}

UNHOOKED static void begin_context(void) {
  moved = fbleprof_block_new("moved", __FILE__, __LINE__);
  for (int i = 0; i < kBlocks; ++i) {
    char name[16];
    snprintf(name, sizeof name, "block_%d", i);
    blocks[i] = fbleprof_block_new(name, __FILE__, __LINE__);
    fbleprof_enter(blocks[i]);
  }
  context = fbleprof_context_new(0);
  for (int i = kBlocks; i-- > 0;) fbleprof_leave(blocks[i]);
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
    const int is_moved = argc > 1 && strcmp(argv[1], "moved") == 0;
    if (is_moved) begin_context();
    pthread_t id;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack + kGuard, kStack);
    if (pthread_create(&id, &attributes, is_moved ? goes_on : thread, NULL) != 0) return 3;
    pthread_join(id, NULL);
  }
  printf("child: %x\n", status);
  return 0;
}
