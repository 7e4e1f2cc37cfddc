// Eight threads at once, then 64 MB of memory. Prints how much address space is reserved (KB),
// unless argv[1] is given.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

static pthread_barrier_t barrier;

BLOCK void counted(void) { work(1); }

BLOCK void* run(void* unused) {
  counted();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return unused;
}

int main(int argc, char** argv) {
  (void)argv;
  pthread_t threads[8];
  int started = 0;
  pthread_barrier_init(&barrier, NULL, 9);
  for (int i = 0; i < 8; ++i) started += pthread_create(&threads[i], NULL, run, NULL) == 0;
  if (started != 8) return 1;
  pthread_barrier_wait(&barrier);
  char* memory = malloc(64 << 20);
  if (memory) memset(memory, 1, 1 << 20);
  printf("memory %d\n", memory != NULL);
  unsigned long pages = 0;
  FILE* file = argc > 1 ? NULL : fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%lu", &pages) == 1) printf("reserved %lu\n", pages * 4);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  return 0;
}
