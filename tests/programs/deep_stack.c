// deep_stack DEPTH ROUNDS: works at the end of two deep recursions without hooks, one after the
// other.
#include <stdlib.h>

#include "block.h"

BLOCK void one(long units) {
  work(units);
  KEEP;
}

BLOCK void other(long units) {
  work(units);
  KEEP;
}

BLOCK void down(long depth, long rounds) {
  if (depth > 0) {
    down(depth - 1, rounds);
  } else {
    for (long i = 0; i < rounds; ++i) one(20000), other(20000);
  }
  KEEP;
}

BLOCK void first(long depth, long rounds) {
  down(depth, rounds);
  KEEP;
}

BLOCK void second(long depth, long rounds) {
  down(depth, rounds);
  KEEP;
}

int main(int argc, char** argv) {
  const long depth = argc > 1 ? atol(argv[1]) : 100000, rounds = argc > 2 ? atol(argv[2]) : 10;
  first(depth, rounds);
  second(depth, rounds);
  return 0;
}
