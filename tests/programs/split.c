// A known split of CPU time: hot 50 %, deep (recursion over 200 levels) 30 %, shared under left 15
// % and shared under right 5 %. argv[1]: for how many ms of CPU time.
#include <stdlib.h>

#include "block.h"

BLOCK void hot(void) { work(10000); }

BLOCK void deep(int level) {
  work(30);
  if (level > 1) deep(level - 1);
  KEEP;
}

BLOCK void shared(long units) { work(units); }

BLOCK void left(void) {
  shared(3000);
  KEEP;
}

BLOCK void right(void) {
  shared(1000);
  KEEP;
}

BLOCK void one_round(void) {
  hot();
  deep(200);
  left();
  right();
  KEEP;
}

int main(int argc, char** argv) {
  long ms = argc > 1 ? atol(argv[1]) : 5000;
  while (cpu_ms() < ms) one_round();
  return 0;
}
