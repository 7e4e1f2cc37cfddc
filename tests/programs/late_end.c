// A preloaded library whose destructor computes for 300 ms, frees what its constructor allocated,
// and keeps a block of its own. LATE=fork: then it makes a child that computes, too. LATE=quick: it
// ends the process by quick_exit.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *freed, *volatile kept;
static volatile unsigned long sum;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) void compute_late(void) {
  const double end = now() + 0.3;
  while (now() < end)
    for (unsigned long i = 0; i < 100000; ++i) sum += i;
}

__attribute__((noinline)) void free_late(void) { free(freed); }
__attribute__((noinline)) void keep_late(void) { kept = malloc(3000); }

__attribute__((constructor)) static void begin(void) { freed = malloc(5000); }
__attribute__((destructor)) static void end(void) {
  compute_late();
  free_late();
  keep_late();
  const char* late = getenv("LATE");
  if (late == NULL) return;
  if (strcmp(late, "quick") == 0) quick_exit(3);
  const pid_t child = fork();
  if (child == 0) compute_late();
  if (child > 0) waitpid(child, NULL, 0);
}
