// The program for the tests of exports: recursion, tail calls, threads, inlined functions, and
// names that a format could misread. With the argument "deep": recursion 5000 calls deep.
#include <fbleprof/fbleprof.h>

#include <thread>
#include <vector>

#define BLOCK __attribute__((noinline))
static volatile long sink;

BLOCK static long spin(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += i * sink + (sink ^ i);
  return sum;
}
BLOCK static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
BLOCK static void pong(int n);
BLOCK static void ping(int n) {
  sink = sink + spin(20000);
  if (n > 0) pong(n - 1);
  sink = sink + 1;
}
BLOCK static void pong(int n) {
  if (n > 0) ping(n - 1);
  sink = sink + 1;
}
template <class T>
BLOCK static T three(T x) {
  sink = sink + spin(100000);
  return x;
}
BLOCK static int two(int x) { return three<int>(x + 1); }
BLOCK static int one(int x) { return two(x) + 1; }

static inline long inlined(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += i ^ sink;
  return sum;
}

BLOCK static void work() {
  sink = sink + inlined(3000000);
  sink = sink + fib(20);
  ping(50);
  for (int i = 0; i < 100; ++i) sink = sink + one(i);
}

// Names that a format could misread.
static void named_blocks() {
  const char* names[] = {"a;b",          "ends in 12", "<script>alert(1)</script>", "line\nend",
                         "\"quoted\\\"", "(7) seven",  "\xff\xfe not UTF-8",        "naïve ✓"};
  for (const char* name : names) {
    const fbleprof_block block = fbleprof_block_new(name, "a file;.c", 12);
    fbleprof_enter(block);
    sink = sink + spin(2000000);
    fbleprof_leave(block);
  }
}

BLOCK static long deep(int n) {
  if (n == 0) return spin(20000000);
  const long below = deep(n - 1);
  sink = sink + 1;
  return below + 1;
}

int main(int argc, char**) {
  if (argc > 1) {
    sink = sink + deep(5000);
    return 0;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(work);
  work();
  named_blocks();
  for (auto& thread : threads) thread.join();
}
