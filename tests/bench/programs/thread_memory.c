// thread_memory THREADS: each thread calls some functions, then waits; prints the resident memory
// of this process, in bytes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static pthread_barrier_t called, measured;
static volatile long sink;

static NOINLINE long leaf(long n) { return sink + n; }
static NOINLINE long branch(long n) { return leaf(n) + leaf(n + 1); }
static NOINLINE long down(long n) { return n == 0 ? branch(n) : down(n - 1) + 1; }

static void* run(void* unused) {
  for (long i = 0; i < 2000; ++i) sink = down(i % 100);
  pthread_barrier_wait(&called);
  pthread_barrier_wait(&measured);
  return unused;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 8;
  pthread_t* all = calloc((size_t)threads, sizeof *all);
  pthread_barrier_init(&called, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&measured, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, run, NULL);
  pthread_barrier_wait(&called);
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[200];
  long kilobytes = 0;
  while (file && fgets(line, sizeof line, file)) sscanf(line, "Rss: %ld", &kilobytes);
  printf("%ld\n", kilobytes * 1024);
  pthread_barrier_wait(&measured);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  free(all);
  return file == NULL;
}
