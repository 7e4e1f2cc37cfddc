// Works for a given wall time, in rounds of first() and second() with work of 3 to 1, and sleeps in
// each round if it is told to. Prints how many of its sleeps were interrupted or ended early.
//   phases SECONDS [sleep|mark]
// A file named "stop" in its directory ends it earlier.
// mark: after half of the time it takes a snapshot, "half", through the API; at three quarters it
// restarts counting.
#include <errno.h>
#include <fbleprof/fbleprof.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) void first(void) {
  for (int i = 0; i < 300000; ++i) sum += (unsigned)i;
}
__attribute__((noinline)) void second(void) {
  for (int i = 0; i < 100000; ++i) sum += (unsigned)i;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  const double start = seconds(), length = argc > 1 ? atof(argv[1]) : 1;
  const int sleeps = argc > 2 && strcmp(argv[2], "sleep") == 0;
  const int marks = argc > 2 && strcmp(argv[2], "mark") == 0;
  int bad_sleeps = 0, marked = 0;
  while (seconds() - start < length && access("stop", F_OK) != 0) {
    // A program that sleeps most of the time still takes CPU time, by which recording is switched.
    for (int i = 0; i < (sleeps ? 10 : 1); ++i) {
      first();
      second();
    }
    if (sleeps) {
      const double before = seconds();
      if (poll(NULL, 0, 30) != 0 || seconds() - before < 0.029) ++bad_sleeps;
    }
    if (marks && marked == 0 && seconds() - start > length / 2) {
      marked = 1;
      printf("snapshot %d\n", fbleprof_snapshot("half"));
    }
    if (marks && marked == 1 && seconds() - start > length * 3 / 4) {
      marked = 2;
      printf("reset %d\n", fbleprof_reset());
    }
  }
  printf("%d bad sleeps\n", bad_sleeps);
  return 0;
}
