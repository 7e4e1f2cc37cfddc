// Threads whose stacks are small, and grow by pieces (-fsplit-stack): functions run with little
// room below them again and again.
#include <pthread.h>

#include "block.h"

BLOCK long leaf(long x) { return x * 3 + 1; }
BLOCK long down(long depth) {
  volatile char here[300];
  here[0] = 1;
  return depth == 0 ? 0 : down(depth - 1) + leaf(depth) + here[0];
}
BLOCK void* run(void* unused) {
  long sum = 0;
  for (int i = 0; i < 30; ++i) sum += down(10000 + i);
  printf("%ld\n", sum);
  return unused;
}

int main(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  run(NULL);
  return 0;
}
