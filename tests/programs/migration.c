// Fibers that continue in any of four threads. Each round has stacks of another size, mostly at the
// addresses of the last round's.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"

enum { kFibers = 64, kRounds = 20, kYields = 20 };

static ucontext_t fiber[kFibers];
static int left[kFibers];
static int queue[kFibers], queued;
static volatile int alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread ucontext_t* volatile home;

static __attribute__((noinline)) ucontext_t* home_of_thread(void) {
  __asm__ volatile("" ::: "memory");
  return home;
}

BLOCK void leaf(void) { work(1); }
BLOCK void pass(int i, int depth) {
  if (depth > 0)
    pass(i, depth - 1);
  else
    swapcontext(&fiber[i], home_of_thread());
  leaf();
  KEEP;
}
BLOCK void body(int i) {
  while (left[i] > 0) {
    leaf();
    --left[i];
    pass(i, i % 7);
  }
  swapcontext(&fiber[i], home_of_thread());
}
BLOCK void run_fiber(ucontext_t* here, int i) {
  swapcontext(here, &fiber[i]);
  KEEP;
}

static void* take_turns(void* argument) {
  ucontext_t here;
  getcontext(&here);
  while (alive > 0) {
    int i = -1;
    pthread_mutex_lock(&lock);
    if (queued > 0) {
      i = queue[0];
      --queued;
      for (int k = 0; k < queued; ++k) queue[k] = queue[k + 1];
    }
    pthread_mutex_unlock(&lock);
    if (i < 0) {
      usleep(50);
      continue;
    }
    home = &here;
    run_fiber(&here, i);
    pthread_mutex_lock(&lock);
    if (left[i] <= 0)
      --alive;
    else
      queue[queued++] = i;
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

int main(void) {
  for (volatile int round = 0; round < kRounds; ++round) {
    const size_t size = (size_t)65536 << round % 3;
    alive = kFibers;
    for (int i = 0; i < kFibers; ++i) {
      getcontext(&fiber[i]);
      fiber[i].uc_stack.ss_size = size;
      fiber[i].uc_stack.ss_sp =
          mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      left[i] = kYields;
      makecontext(&fiber[i], (void (*)(void))body, 1, i);
      queue[queued++] = i;
    }
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, take_turns, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < kFibers; ++i) munmap(fiber[i].uc_stack.ss_sp, size);
  }
  // Every fiber begins in run_fiber, and nowhere else.
  printf("expect run_fiber body %d\n", kFibers * kRounds);
  printf("expect body leaf %d\n", kFibers * kRounds * kYields);
  return 0;
}
