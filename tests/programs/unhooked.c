// Hooked functions that call code without hooks, which burns time and calls back.
// argv[1]: ms of CPU time.
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

static long compared, visited;

BLOCK int compare(const void* a, const void* b) {
  ++compared;
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}
BLOCK void sorter(int* numbers, int n) {
  qsort(numbers, n, sizeof *numbers, compare);
  KEEP;
}

BLOCK void visit(const void* node, VISIT order, int level) {
  (void)node, (void)order, (void)level;
  ++visited;
}
BLOCK void walker(void* root) {
  twalk(root, visit);
  KEEP;
}

// A call with arguments on the stack: the entries of callees that have ended lie in their caller's
// frame, above its stack pointer.
static long given;
BLOCK void before(long n) { given += n; }
BLOCK void take(void) { ++given; }
__attribute__((noinline)) UNHOOKED static long take_many(long a, long b, long c, long d, long e,
                                                         long f, long g, long h, long i, long j,
                                                         void (*function)(void)) {
  function();
  return a + b + c + d + e + f + g + h + i + j;
}
BLOCK void giver(long n) {
  before(n);
  given += take_many(n, n, n, n, n, n, given, given, given, given, take);
  before(n);
  KEEP;
}

static char from[1 << 16], to[1 << 16];
BLOCK void copier(void) {
  for (int i = 0; i < 200; ++i) {
    memcpy(to, from, sizeof to);
    __asm__ volatile("" ::"r"(to), "r"(from) : "memory");
  }
}

static long initialised;
static pthread_once_t once = PTHREAD_ONCE_INIT;
BLOCK void initialise(void) { ++initialised; }
BLOCK void use_once(void) {
  pthread_once(&once, initialise);
  KEEP;
}

enum { kNumbers = 5000 };
int main(int argc, char** argv) {
  long ms = argc > 1 ? atol(argv[1]) : 1000;
  static int numbers[kNumbers];
  static int keys[3] = {1, 2, 3};
  unsigned seed = 1;
  for (int i = 0; i < kNumbers; ++i) numbers[i] = (seed = seed * 1103515245 + 12345) >> 16;
  sorter(numbers, kNumbers);
  long in_sort = compared;

  void* root = NULL;
  for (int i = 0; i < 3; ++i) tsearch(&keys[i], &root, compare);
  walker(root);
  use_once();
  for (int i = 0; i < 50; ++i) giver(0);

  expect("main", "sorter", 1);
  expect("sorter", "compare", in_sort);
  expect("main", "compare", compared - in_sort);
  expect("walker", "visit", visited);
  expect("use_once", "initialise", initialised);
  expect("giver", "before", 100);
  expect("giver", "take", 50);
  fflush(stdout);
  while (cpu_ms() < ms) copier();
  return 0;
}
