// 100,000 exceptions through instrumented frames; half are caught, thrown again and caught further
// out. The next calls of the catching function have only that function as caller.
#include <cstdio>
#include <stdexcept>

#include "block.h"

static volatile long sink;

struct Guard {
  UNHOOKED ~Guard() { sink = sink + 1; }
};

BLOCK void inner(int i) {
  Guard guard;
  if (i >= 0) throw i;
}
BLOCK void middle(int i) {
  Guard guard;
  inner(i);
  KEEP;
}
BLOCK void recover(void) { sink = sink + 1; }
BLOCK void catcher(int i) {
  try {
    middle(i);
  } catch (int) {
    recover();
    if (i % 2) throw;
  }
  KEEP;
}
BLOCK void last_resort(void) { sink = sink + 1; }
BLOCK void outer(int i) {
  try {
    catcher(i);
  } catch (int) {
    last_resort();
  }
  KEEP;
}

int main() {
  const long times = 100000;
  for (long i = 0; i < times; ++i) outer(int(i));
  expect("main", "outer", times);
  expect("outer", "catcher", times);
  expect("catcher", "middle", times);
  expect("middle", "inner", times);
  expect("catcher", "recover", times);
  expect("outer", "last_resort", times / 2);
  expect("inner", "recover", 0);
  expect("middle", "recover", 0);
  expect("catcher", "last_resort", 0);
  expect("inner", "last_resort", 0);
  return 0;
}
