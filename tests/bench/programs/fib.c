// The worst case for hooks: functions that only call. fib N [THREADS]: each thread computes it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static long argument;

static void* run(void* unused) {
  (void)unused;
  return (void*)fib(argument);
}

int main(int argc, char** argv) {
  argument = argc > 1 ? atol(argv[1]) : 30;
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  pthread_t others[64];
  for (int i = 1; i < threads && i < 64; ++i) pthread_create(&others[i], NULL, run, NULL);
  printf("%ld\n", (long)run(NULL));
  for (int i = 1; i < threads && i < 64; ++i) pthread_join(others[i], NULL);
  return 0;
}
