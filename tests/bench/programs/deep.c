// Works at the end of a stack of 30 frames.
//   deep ROUNDS            a fixed amount of work
//   deep ROUNDS signals    instead sends itself ROUNDS signals that look like a sampling timer's,
//                          and prints the time of each, in ns. Without a profiler it uses an empty
//                          handler: the difference is the cost of the profiler's handler alone,
//                          without the kernel's cost of a timer interrupt.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static siginfo_t sample;
static long process, thread;
static long signals_each, failures;

static NOINLINE uint64_t work(uint64_t n) {
  uint64_t hash = n;
  for (int i = 0; i < 400; ++i) hash = (hash ^ (hash >> 7)) * 0x9E3779B97F4A7C15u;
  return hash;
}

static NOINLINE uint64_t bottom(uint64_t n) {
  if (signals_each == 0) return work(n);
  long result = 0;
  for (long i = 0; i < signals_each; ++i) {
    register siginfo_t* info __asm__("r10") = &sample;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_rt_tgsigqueueinfo), "D"(process), "S"(thread), "d"(SIGPROF),
                       "r"(info)
                     : "rcx", "r11", "memory");
    failures += result != 0;
  }
  return n;
}

// 28 functions, each with a frame of its own size, between main and bottom.
#define LEVEL(number, next)                            \
  static NOINLINE uint64_t level##number(uint64_t n) { \
    volatile char room[16 + number * 8];               \
    room[n % sizeof room] = (char)n;                   \
    return next(n + 1) + (uint64_t)room[0];            \
  }
// clang-format off
LEVEL(28, bottom) LEVEL(27, level28) LEVEL(26, level27) LEVEL(25, level26) LEVEL(24, level25)
LEVEL(23, level24) LEVEL(22, level23) LEVEL(21, level22) LEVEL(20, level21) LEVEL(19, level20)
LEVEL(18, level19) LEVEL(17, level18) LEVEL(16, level17) LEVEL(15, level16) LEVEL(14, level15)
LEVEL(13, level14) LEVEL(12, level13) LEVEL(11, level12) LEVEL(10, level11) LEVEL(9, level10)
LEVEL(8, level9) LEVEL(7, level8) LEVEL(6, level7) LEVEL(5, level6) LEVEL(4, level5) LEVEL(3,
level4) LEVEL(2, level3) LEVEL(1, level2)
    // clang-format on

    static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)info;
  (void)context;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const long wanted = argc > 1 ? atol(argv[1]) : 1000000;
  signals_each = argc > 2 && strcmp(argv[2], "signals") == 0 ? 100 : 0;
  const long rounds = signals_each ? wanted / signals_each : wanted;
  process = getpid();
  thread = syscall(SYS_gettid);
  sample.si_signo = SIGPROF;
  sample.si_code = POLL_IN;
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  const char* preloaded = getenv("LD_PRELOAD");
  if (signals_each && !(preloaded && strstr(preloaded, "fbleprof"))) {
    sigaction(SIGPROF, &action, NULL);
  }
  uint64_t sum = 0;
  for (long i = 0; i < rounds / 10; ++i) sum += level1((uint64_t)i);  // caches are warm afterwards
  const double start = now_ns();
  for (long i = 0; i < rounds; ++i) sum += level1((uint64_t)i);
  const double end = now_ns();
  printf("%.1f\n", (end - start) / (double)wanted);
  return failures != 0 || sum == 42;
}
