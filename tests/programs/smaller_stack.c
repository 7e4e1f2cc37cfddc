// smaller_stack: a thread recurses on a stack, part of which is then unmapped; another thread does
// the same on the rest.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "block.h"

BLOCK void deep(long more) {
  volatile char frame[1000];
  frame[0] = (char)more;
  if (more > 0) {
    deep(more - 1);
  } else {
    work(100 * 1000);
  }
  frame[1] = frame[0];
  KEEP;
}

static void* body(void* depth) {
  deep((long)(intptr_t)depth);
  return NULL;
}

static void run(char* stack, size_t bytes, long depth) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, bytes);
  if (pthread_create(&thread, &attributes, body, (void*)(intptr_t)depth) == 0) {
    pthread_join(thread, NULL);
  }
}

int main(void) {
  const size_t large = 2 << 20, small = 256 << 10;
  char* stack = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  run(stack, large, 1900);
  munmap(stack + small, large - small);
  run(stack, small, 100);
  puts("done");
  return 0;
}
