// Spends its time in libc: sorting with a callback, copying, allocating.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

#define N 2000
static unsigned numbers[N], state = 1;
static char from[1 << 16], to[1 << 16];
static unsigned long compared;

BLOCK int compare(const void* a, const void* b) {
  unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
  ++compared;
  return (x > y) - (x < y);
}

BLOCK void sort(void) {
  for (int i = 0; i < N; ++i) numbers[i] = state = state * 1664525u + 1013904223u;
  qsort(numbers, N, sizeof numbers[0], compare);
  KEEP;
}

BLOCK void copy(int n) {
  for (int i = 0; i < n; ++i) memcpy(to, from, sizeof to - (unsigned)(i & 63));
  KEEP;
}

BLOCK void allocate(int n) {
  for (int i = 0; i < n; ++i) {
    void* volatile p[8];
    for (int k = 0; k < 8; ++k) p[k] = malloc(100u + (unsigned)k * 3000);
    for (int k = 0; k < 8; ++k) free(p[k]);
  }
  KEEP;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 30;
  for (int i = 0; i < rounds; ++i) {
    sort();
    copy(1000);
    allocate(3000);
  }
  printf("expect main sort %d\nexpect main copy %d\n", rounds, rounds);
  printf("expect main allocate %d\nexpect sort compare %lu\n", rounds, compared);
  return to[3];
}
