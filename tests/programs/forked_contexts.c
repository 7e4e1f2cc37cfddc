/* Usage: forked_contexts WAY [GREW]: forks while a ucontext is suspended ("beside"), or inside one
 * ("inside"); parent and child go on in it. GREW: has many contexts before, so that the numbers of
 * the parent's mean nothing in the child. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static double cpu(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static volatile unsigned long sum;
static int is_child = 0, forks_inside = 0;
static ucontext_t outside, fiber;

#define COMPUTES(name, step)                                         \
  __attribute__((noinline)) static void name(void) {                 \
    for (const double end = cpu() + 0.05; cpu() < end;)              \
      for (int i = 0; i < 1000; ++i) sum += step * (unsigned long)i; \
  }
COMPUTES(first, 1)
COMPUTES(second, 2)
COMPUTES(third, 3)
COMPUTES(other, 4)

static void must_fork(void) {
  const pid_t child = fork();
  if (child < 0) abort();
  is_child = child == 0;
  if (!is_child && waitpid(child, NULL, 0) != child) abort();
}

__attribute__((noinline)) static void inner(void) {
  first();
  if (forks_inside) must_fork();
  swapcontext(&fiber, &outside);
  second();
  swapcontext(&fiber, &outside);
  third();
  ++sum;
}

__attribute__((noinline)) static void in_fiber(void) {
  inner();
  swapcontext(&fiber, &outside);
}

__attribute__((noinline)) static void resume(void) {
  swapcontext(&outside, &fiber);
  ++sum;
}

/* 32 functions that call each other on many paths. */
#define EACH(does)                                                                              \
  does(0) does(1) does(2) does(3) does(4) does(5) does(6) does(7) does(8) does(9) does(10)      \
      does(11) does(12) does(13) does(14) does(15) does(16) does(17) does(18) does(19) does(20) \
          does(21) does(22) does(23) does(24) does(25) does(26) does(27) does(28) does(29)      \
              does(30) does(31)
#define DECLARE(n) static void grow##n(int depth);
#define NAME(n) grow##n,
EACH(DECLARE)
static void (*const grow[])(int) = {EACH(NAME)};
#define DEFINE(n)                                            \
  __attribute__((noinline)) static void grow##n(int depth) { \
    if (depth != 0) {                                        \
      grow[(n * 7 + 1) % 32](depth - 1);                     \
      grow[(n * 5 + 3) % 32](depth - 1);                     \
    }                                                        \
    sum += n;                                                \
  }
EACH(DEFINE)

int main(int argc, char** argv) {
  static char stack[1 << 16];
  forks_inside = argc > 1 && strcmp(argv[1], "inside") == 0;
  for (int i = 0; argc > 2 && i < 32; ++i) grow[i](10);
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = sizeof stack;
  fiber.uc_link = &outside;
  makecontext(&fiber, in_fiber, 0);
  resume();
  if (!forks_inside) must_fork();
  other();
  resume();
  resume();
  if (is_child) _exit(0);
  puts("done");
  return 0;
}
