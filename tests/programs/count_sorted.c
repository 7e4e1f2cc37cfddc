// Sorts as often as told, 40 times each of 10 and 100 numbers, and prints how often code without
// hooks (qsort) called the comparison. Counted without a hook of its own.
#include <stdlib.h>

#include "block.h"

static long compared;

BLOCK int compare(const void* a, const void* b) {
  ++compared;
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}

BLOCK void sort(int* numbers, int n) {
  static unsigned seed = 1;
  for (int i = 0; i < n; ++i) numbers[i] = (seed = seed * 1103515245 + 12345) >> 16;
  qsort(numbers, n, sizeof *numbers, compare);
  KEEP;
}

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 1;
  int numbers[100];
  for (long i = 0; i < 40 * rounds; ++i) {
    sort(numbers, 10);
    sort(numbers, 100);
  }
  printf("%ld\n", compared);
  return 0;
}
