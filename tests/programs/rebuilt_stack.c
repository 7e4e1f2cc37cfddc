// rebuilt_stack DEPTH ROUNDS: keeps rebuilding the newer part of a deep stack, each time by other
// functions, above an older part that stays.
#include <stdlib.h>

#include "block.h"

static long depth, rounds;

BLOCK void end(void) {
  work(300);
  KEEP;
}

BLOCK void one(long more) {
  if (more > 0) one(more - 1);
  if (more == 0) end();
  KEEP;
}

BLOCK void other(long more) {
  volatile long wider[4] = {more};
  if (more > 0) other(more - 1);
  if (more == 0) end();
  KEEP;
  (void)wider[0];
}

BLOCK void rebuild(void) {
  for (long i = 0; i < rounds; ++i) {
    one(depth);
    other(depth);
  }
  KEEP;
}

BLOCK void base(long more) {
  if (more > 0) {
    base(more - 1);
  } else {
    rebuild();
  }
  KEEP;
}

int main(int argc, char** argv) {
  depth = argc > 1 ? atol(argv[1]) : 60000;
  rounds = argc > 2 ? atol(argv[2]) : 300;
  base(2000);
  return 0;
}
