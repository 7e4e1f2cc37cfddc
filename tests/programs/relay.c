// relay: threads, one after the other, each of which frees what the one before allocated.
#include <pthread.h>
#include <stdlib.h>

static void* volatile block;

static void* body(void* unused) {
  free(block);
  block = malloc(100);
  return unused;
}

int main(void) {
  for (int i = 0; i < 1000; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
  }
  return 0;
}
