/* Usage: attached_threads WAY GO: sleeps until the file GO exists. Then threads compute while the
 * main thread sleeps: "one", or one after the other, "short" (each a tenth of a millisecond;
 * argv[3] is their number), or "keys": as "one", in a program that uses argv[3] keys of
 * thread-specific values, or as many as there are. "churn": until then, four threads at a
 * time compute for 1.5 ms. Prints the CPU time of the process since then, in ms. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double clock_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void in_thread(double seconds) {
  const double begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
  while (clock_of(CLOCK_THREAD_CPUTIME_ID) - begin < seconds) {
  }
}

static void* work(void* seconds) {
  in_thread(*(double*)seconds);
  return NULL;
}

static int run(double seconds) {
  pthread_t thread;
  return pthread_create(&thread, NULL, work, &seconds) == 0 && pthread_join(thread, NULL) == 0;
}

static int run_four(double seconds) {
  pthread_t threads[4];
  int started = 0;
  while (started < 4 && pthread_create(&threads[started], NULL, work, &seconds) == 0) ++started;
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return started == 4;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int has_keys = strcmp(argv[1], "keys") == 0;
  pthread_key_t key;
  for (int i = 0; has_keys && i < atoi(argv[3]); ++i) pthread_key_create(&key, NULL);
  const int does_churn = strcmp(argv[1], "churn") == 0;
  while (access(argv[2], F_OK) != 0) {
    if (!does_churn) usleep(20000);
    if (does_churn && !run_four(0.0015)) return 1;
  }
  const double begin = clock_of(CLOCK_PROCESS_CPUTIME_ID);
  if ((has_keys || strcmp(argv[1], "one") == 0) && !run(0.5)) return 1;
  if (strcmp(argv[1], "short") == 0) {
    for (int i = 0; i < atoi(argv[3]); ++i) {
      if (!run(0.0001)) return 1;
    }
  }
  printf("%.0f\n", (clock_of(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e3);
  return 0;
}
