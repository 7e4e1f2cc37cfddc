// crowded N: N threads at once, with small stacks. crowded arenas: threads that never allocate.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void* wait_at_gate(void* argument) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return argument;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 8;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (count > 100) pthread_attr_setstacksize(&attributes, 65536);
  pthread_t* threads = malloc((size_t)count * sizeof *threads);
  pthread_mutex_lock(&gate);
  int made = 0;
  while (made < count) {
    const int error = pthread_create(&threads[made], &attributes, wait_at_gate, NULL);
    if (error != 0) {
      printf("thread %d: %s\n", made, strerror(error));
      break;
    }
    ++made;
  }
  void* block = count <= 100 ? malloc((size_t)64 << 20) : NULL;
  printf("%d threads%s\n", made, block ? ", 64 MB" : "");
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < made; ++i) pthread_join(threads[i], NULL);
  return made != count;
}
