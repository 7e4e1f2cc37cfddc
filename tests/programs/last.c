// Threads of a few periods, which end in a function that takes no time: the time since the last
// sample does not belong to it.
#include <pthread.h>

#include "block.h"

UNHOOKED static long thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000l + t.tv_nsec;
}

BLOCK void spin(void) {
  const long end = thread_ns() + 5000000;
  while (thread_ns() < end) work(1);
}

BLOCK void tiny(void) { KEEP; }

static void* run(void* argument) {
  spin();
  tiny();
  KEEP;
  return argument;
}

int main(void) {
  for (int i = 0; i < 100; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
  }
  expect("*", "spin", 100);
  expect("*", "tiny", 100);
  return 0;
}
