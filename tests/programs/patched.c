// Functions with a patchable entry that need care. The program prints its results, which must be
// the same with hooks.
#include <stdarg.h>
#include <stdint.h>

#include "block.h"

// gcc keeps values in r11 across calls of functions that it knows not to use it (-fipa-ra).
BLOCK long small(long x) { return x + 1; }
BLOCK long keeps_r11(long x) {
  long kept = 0x1234, result = x;
  __asm__ volatile(
      "mov %[kept], %%r11\n\t"
      "sub $128, %%rsp\n\t"
      "call small\n\t"
      "add $128, %%rsp\n\t"
      "mov %%r11, %[kept]"
      : [kept] "+r"(kept), "+D"(result)
      :
      : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  return kept;
}

// The number of vector arguments is in al.
BLOCK double sum(int n, ...) {
  va_list list;
  double result = 0;
  va_start(list, n);
  for (int i = 0; i < n; ++i) result += va_arg(list, double);
  va_end(list);
  return result;
}

// The frame is realigned after the entry.
BLOCK uintptr_t aligned(long x) {
  volatile long wide[8] __attribute__((aligned(64)));
  wide[0] = x;
  return ((uintptr_t)wide & 63) + (uintptr_t)wide[0];
}

// Has no room for a site: not counted.
__attribute__((patchable_function_entry(2))) BLOCK void crowded(void) { KEEP; }
// The compiler gives it no NOPs at all.
__attribute__((patchable_function_entry(0))) BLOCK void left_out(void) { KEEP; }
// NOPs before the function as well.
__attribute__((patchable_function_entry(12, 4))) BLOCK void in_front(void) { KEEP; }
__attribute__((patchable_function_entry(30))) BLOCK void roomy(void) { KEEP; }

BLOCK void called_last(void) { KEEP; }
BLOCK void calls_last(void) { called_last(); }

int main(void) {
  void (*volatile pointer)(void) = roomy;
  long r11 = 0, places = 0;
  double sums = 0;
  for (int i = 0; i < 1000; ++i) {
    r11 += keeps_r11(i);
    sums += sum(3, 1.5, 2.5, (double)i);
    places += (long)aligned(i);
    crowded();
    left_out();
    in_front();
    pointer();
    calls_last();
  }
  printf("%lx %.1f %ld\n", r11, sums, places);
  expect("main", "keeps_r11", 1000);
  expect("keeps_r11", "small", 1000);
  expect("main", "sum", 1000);
  expect("main", "aligned", 1000);
  expect("main", "crowded", 0);
  expect("main", "left_out", 0);
  expect("main", "in_front", 1000);
  expect("main", "roomy", 1000);
  expect("main", "calls_last", 1000);
  expect("main", "called_last", 1000);
  return 0;
}
