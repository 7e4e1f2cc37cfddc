// Threads that get names in different ways, before they call functions.
//   named_threads
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "block.h"

enum { kCalls = 1000 };

BLOCK void by_itself(void) { KEEP; }
BLOCK void by_prctl(void) { KEEP; }
BLOCK void by_creator(void) { KEEP; }
BLOCK void helping(void) { KEEP; }
BLOCK void in_main(void) { KEEP; }
BLOCK void as_worker(void) { KEEP; }
BLOCK void as_other(void) { KEEP; }

static void* names_itself(void* unused) {
  pthread_setname_np(pthread_self(), "worker-1");
  for (int i = 0; i < kCalls; ++i) by_itself();
  return unused;
}

static void* is_named_by_prctl(void* unused) {
  prctl(PR_SET_NAME, "worker-2");
  for (int i = 0; i < kCalls; ++i) by_prctl();
  return unused;
}

static pthread_barrier_t barrier;
static void* is_named_by_creator(void* unused) {
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kCalls; ++i) by_creator();
  return unused;
}

static void* helps(void* unused) {
  pthread_setname_np(pthread_self(), "helper");
  for (int i = 0; i < kCalls; ++i) helping();
  return unused;
}

static void* changes_its_name(void* unused) {
  pthread_setname_np(pthread_self(), "worker-4");
  for (int i = 0; i < kCalls; ++i) as_worker();
  pthread_setname_np(pthread_self(), "other");
  for (int i = 0; i < kCalls; ++i) as_other();
  return unused;
}

int main(void) {
  pthread_t threads[5];
  pthread_barrier_init(&barrier, NULL, 2);
  for (int i = 0; i < kCalls; ++i) in_main();
  pthread_create(&threads[0], NULL, names_itself, NULL);
  pthread_create(&threads[1], NULL, is_named_by_prctl, NULL);
  pthread_create(&threads[2], NULL, is_named_by_creator, NULL);
  pthread_setname_np(threads[2], "worker-3");
  pthread_barrier_wait(&barrier);
  pthread_create(&threads[3], NULL, helps, NULL);
  pthread_create(&threads[4], NULL, changes_its_name, NULL);
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  printf("done\n");
  return 0;
}
