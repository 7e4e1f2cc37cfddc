// Built with sanitizers: threads that allocate and compute.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void* compute(void* argument) {
  char* block = malloc(100);
  volatile long x = 0;
  for (long i = 0; i < 20000000; ++i) x += i;
  block[3] = 1;
  free(block);
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, compute, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
