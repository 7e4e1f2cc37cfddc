// Calls between functions that a filter leaves out and functions that it keeps: through pointers,
// by recursion, as tail calls, and with arguments on the stack, which leave old frames above new
// ones.
//   filtered [forever]   forever: until there is a file "stop"; prints whether all rounds were
//   equal
#include <stdio.h>
#include <unistd.h>

#include "block.h"

static unsigned long done;

BLOCK void leaf(void) {
  ++done;
  KEEP;
}

BLOCK void inner(void) {
  leaf();
  leaf();
  KEEP;
}

BLOCK void wide(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  inner();
  done += (unsigned long)(a + b + c + d + e + f + g + h + i) * 0;
  KEEP;
}

BLOCK void middle(void) {
  inner();
  leaf();
  wide(1, 2, 3, 4, 5, 6, 7, 8, 9);
  KEEP;
}

BLOCK void outer(void) {
  for (int i = 0; i < 10; ++i) middle();
  KEEP;
}

BLOCK void recurse(int n) {
  if (n != 0) recurse(n - 1);
  leaf();
  KEEP;
}

BLOCK void through(void (*function)(void)) {
  function();
  KEEP;
}

BLOCK void forward(void (*function)(void)) { function(); }  // a tail call

int main(int argc, char** argv) {
  (void)argv;
  int same = 1;
  do {
    done = 0;
    for (int i = 0; i < 100; ++i) {
      outer();
      recurse(5);
      through(leaf);
      forward(inner);
    }
    same = same && done == 5900;
  } while (argc > 1 && access("stop", F_OK) != 0);
  if (argc > 1) {
    puts(same ? "same" : "different");
  } else {
    printf("done %lu\n", done);
  }
  return 0;
}
