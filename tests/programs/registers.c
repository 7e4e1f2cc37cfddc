// State that hooks and handler must not change: errno, argument and vector registers, the static
// chain, x87 and SSE control words, rounding modes. Prints results, which must be the same without
// us.
#include <errno.h>
#include <fenv.h>
#include <immintrin.h>
#include <stdarg.h>

#include "block.h"

#pragma GCC diagnostic ignored "-Wpsabi"

BLOCK double eight(double a, double b, double c, double d, double e, double f, double g, double h) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
BLOCK long six(long a, long b, long c, long d, long e, long f) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}
BLOCK double variadic(int n, ...) {
  va_list list;
  double sum = 0;
  va_start(list, n);
  for (int i = 0; i < n; ++i) sum += va_arg(list, double) * (i + 1);
  va_end(list);
  return sum;
}
BLOCK __int128 wide(__int128 a) { return a * 3; }
struct Large {
  long numbers[20];
};
BLOCK struct Large returned_in_memory(long seed) {
  struct Large large;
  for (int i = 0; i < 20; ++i) large.numbers[i] = seed + i;
  return large;
}
BLOCK long double extended(long double a) { return a / 3; }

#ifndef __clang__
// A nested function finds its outer one through r10.
BLOCK int apply(int (*function)(int), int x) {
  int y = function(x);
  KEEP;
  return y;
}
BLOCK int outer(int base) {
  __attribute__((noinline)) int nested(int x) { return base + x; }
  return apply(nested, 5) + nested(7);
}
#endif

__attribute__((target("avx2"))) BLOCK __m256i avx_arguments(__m256i a, __m256i b) {
  return _mm256_add_epi32(a, _mm256_slli_epi32(b, 1));
}
// Holds values in vector registers while samples arrive.
__attribute__((target("avx2"))) BLOCK int avx_kept(long rounds) {
  __m256i a = _mm256_set1_epi32(0x12345678), b = _mm256_set1_epi32(0x0f0f0f0f);
  __m256i a0 = a, b0 = b;
  for (long i = 0; i < rounds; ++i) {
    __asm__ volatile("" : "+x"(a), "+x"(b));
    work(1);
  }
  __m256i same = _mm256_and_si256(_mm256_cmpeq_epi32(a, a0), _mm256_cmpeq_epi32(b, b0));
  return _mm256_movemask_epi8(same);
}
__attribute__((target("avx2"))) BLOCK void test_avx(void) {
  __m256i a = _mm256_set_epi32(1, 2, 3, 4, 5, 6, 7, 8), b = _mm256_set1_epi32(10);
  __m256i sum = avx_arguments(a, b);
  int out[8];
  _mm256_storeu_si256((__m256i*)out, sum);
  for (int i = 0; i < 8; ++i) printf("%d ", out[i]);
  printf("kept %x\n", (unsigned)avx_kept(200000));
}

BLOCK void errno_kept(void) {
  int changed = 0;
  for (int i = 0; i < 1000; ++i) {
    errno = 1234;
    work(200);
    six(1, 2, 3, 4, 5, i);
    if (errno != 1234) ++changed;
  }
  printf("errno changed: %d\n", changed);
}

int main(void) {
  printf("%g %ld\n", eight(1, 2, 3, 4, 5, 6, 7, 8), six(1, 2, 3, 4, 5, 6));
  printf("%g\n", variadic(10, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.));
  printf("%lx\n", (unsigned long)(wide((__int128)0x123456789abcdef << 60) >> 64));
  printf("%ld\n", returned_in_memory(7).numbers[19]);
  printf("%.20Lg\n", extended(1));
#ifndef __clang__
  printf("%d\n", outer(100));
#endif
  if (__builtin_cpu_supports("avx2")) test_avx();
  fesetround(FE_UPWARD);
  printf("%.20g ", 1. / 3. + eight(.1, .2, .3, .4, .5, .6, .7, .8));
  work(100000);
  printf("%d\n", fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  errno_kept();
  return 0;
}
