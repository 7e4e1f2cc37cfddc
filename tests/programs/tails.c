// Tail calls that the code names, and one that it does not. Built with each function in a section
// of its own: the assembler then writes jumps of five bytes, as between files.
#include "block.h"

static volatile long sink;

BLOCK int last(int x) {
  sink = sink + x;
  return x;
}
BLOCK int step(int x) {
  sink = sink + x;
  return last(x + 1);
}
// In its first five bytes, which the recorder displaces.
BLOCK int wrapper(int x) { return last(x); }
BLOCK int first(int x) { return x % 4 == 0 ? step(x) : wrapper(x + 1); }

// Ordinary calls of the same functions, from the same caller.
BLOCK int calls(int x) {
  const int y = last(x);
  KEEP;
  return y + 1;
}
BLOCK int both(int x) {
  const int y = step(x) + first(x) + last(x);
  KEEP;
  return y;
}

// A loop of tail calls, in which a function is also called.
BLOCK int odd(int n);
BLOCK int even(int n) {
  if (n == 0) return calls(n);
  return odd(n - 1);
}
BLOCK int odd(int n) {
  if (n == 0) return 0;
  return even(n - 1);
}

// Recursion, in which each level ends with a tail call of another function.
BLOCK int descend(int n) {
  if (n > 0) sink = sink + descend(n - 1);
  KEEP;
  return step(n);
}

// With arguments on the stack: the frame of an earlier callee lies above.
BLOCK int many(int a, int b, int c, int d, int e, int f, int g, int h) {
  return last(a + b + c + d + e + f + g + h);
}
BLOCK int with_many(int x) {
  const int y = calls(x) + many(x, 1, 2, 3, 4, 5, 6, x);
  KEEP;
  return y;
}

// Nobody knows that this is a tail call.
BLOCK int through(int (*function)(int), int x) { return function(x); }

int main(void) {
  int (*volatile pointer)(int) = last;
  for (int i = 0; i < 1000; ++i) {
    first(i);
    both(i);
    even(i % 8);
    descend(i % 5);
    with_many(i);
    through(pointer, i);
  }
  expect("main", "first", 1000), expect("main", "both", 1000), expect("both", "first", 1000);
  expect("both", "step", 1000), expect("both", "last", 1000);
  expect("first", "step", 500), expect("first", "wrapper", 1500), expect("first", "last", 0);
  expect("wrapper", "last", 1500), expect("*", "wrapper", 1500);
  expect("main", "step", 0), expect("main", "wrapper", 0);
  expect("main", "even", 1000), expect("main", "odd", 0), expect("even", "odd", 2000);
  expect("odd", "even", 1500), expect("even", "calls", 500), expect("odd", "calls", 0);
  expect("main", "descend", 1000), expect("descend", "descend", 2000);
  expect("descend", "step", 3000), expect("step", "last", 4500);
  expect("with_many", "many", 1000), expect("with_many", "calls", 1000);
  expect("many", "last", 1000), expect("with_many", "last", 0);
  expect("calls", "last", 1500);
  expect("main", "last", 1000);  // through()
  expect("*", "last", 1000 + 1500 + 4500 + 1500 + 1000 + 1000);
  return 0;
}
