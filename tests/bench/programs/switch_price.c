// The cost of turning recording off and on. switch_price THREADS: prints us of the wall clock for
// an fbleprof_stop and its fbleprof_start, while THREADS - 1 other threads sleep.
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 200

static pthread_barrier_t all_started;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void* sleep_to_the_end(void* unused) {
  pthread_barrier_wait(&all_started);
  for (;;) pause();
  return unused;
}

static int compare(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  pthread_barrier_init(&all_started, NULL, (unsigned)threads);
  for (int i = 1; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_to_the_end, NULL) != 0) return 1;
  }
  pthread_barrier_wait(&all_started);
  double prices[PAIRS];
  for (int i = 0; i < PAIRS; ++i) {
    const double begin = now_us();
    fbleprof_stop();
    fbleprof_start();
    prices[i] = now_us() - begin;
  }
  qsort(prices, PAIRS, sizeof(prices[0]), compare);
  printf("%.1f\n", prices[PAIRS / 2]);
  return 0;
}
