// deep_threads COUNT MS: threads, one after the other, each with a deep stack that it keeps
// building anew for so many ms of CPU time.
#include <pthread.h>
#include <stdlib.h>

#include "block.h"

static long ms;

BLOCK void deep(long more) {
  if (more > 0) {
    deep(more - 1);
  } else {
    work(20);
  }
  KEEP;
}

static void* body(void* unused) {
  struct timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    deep(2000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
  return unused;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 3;
  ms = argc > 2 ? atol(argv[2]) : 300;
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  return 0;
}
