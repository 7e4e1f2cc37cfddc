// Rounds of CPU time that are hard to sample. argv[1]: for how many ms.
//   rhythm  three tenths of each millisecond in first, the rest in second: a sampler that keeps the
//           same time meets each round at the same point
//   kernel  three tenths in the kernel, called from in_kernel; not in step with the kernel's ticks
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int zeros;
static char buffer[1 << 16];
static volatile long sink;

__attribute__((no_instrument_function)) static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

// Looks at the clock, which is a system call, only every 40 us or so: how well time in the kernel
// is charged is another question.
static __attribute__((noinline)) void compute(long until) {
  while (now_ns() < until) {
    for (int i = 0; i < 20000; ++i) sink += i;
  }
}

static __attribute__((noinline)) void first(long until) {
  compute(until);
  __asm__("# not the same function as second");
}

static __attribute__((noinline)) void second(long until) {
  compute(until);
  __asm__("");
}

static __attribute__((noinline)) void in_kernel(long until) {
  while (now_ns() < until) {
    if (read(zeros, buffer, sizeof buffer) < 0) abort();
  }
}

int main(int argc, char** argv) {
  const int kernel = argc > 2 && strcmp(argv[2], "kernel") == 0;
  const long end = now_ns() + (argc > 1 ? atol(argv[1]) : 3000) * 1000000L;
  zeros = open("/dev/zero", O_RDONLY);
  const long round = kernel ? 1370000 : 1000000;
  for (long t = now_ns(); t < end; t += round) {
    (kernel ? in_kernel : first)(t + round * 3 / 10);
    second(t + round);
  }
  return 0;
}
