// A known number of calls, to measure the cost of one. count N: recursive fib(N); prints the number
// of its calls. Compiled with -DBLOCKS each call enters and leaves a block of the C API.
#include <stdio.h>
#include <stdlib.h>

#ifdef BLOCKS
#include <fbleprof/fbleprof.h>
static fbleprof_block block;
#define ENTER fbleprof_enter(block)
#define LEAVE fbleprof_leave(block)
#else
#define ENTER (void)0
#define LEAVE (void)0
#endif

// noipa: not inlined into itself, whatever the hooks.
__attribute__((noipa)) static long fib(long n) {
  ENTER;
  long result = n;
  if (n >= 2) {
    result = fib(n - 1);
    long second = fib(n - 2);
    __asm__("" : "+r"(second));  // or the compiler makes a loop of this call
    result += second;
  }
  LEAVE;
  return result;
}

int main(int argc, char** argv) {
  const long n = argc > 1 ? atol(argv[1]) : 20;
#ifdef BLOCKS
  block = fbleprof_block_new("fib", __FILE__, __LINE__);
#endif
  // fib(n) makes 2 fib(n + 1) - 1 calls, its own included.
  long a = 0, b = 1;
  for (long i = 0; i < n; ++i) {
    const long next = a + b;
    a = b;
    b = next;
  }
  const long calls = 2 * b - 1;
  if (fib(n) != a) return 1;
  printf("%ld\n", calls);
  return 0;
}
