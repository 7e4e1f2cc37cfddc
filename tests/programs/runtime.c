// An interpreter without hooks: one C function runs all blocks, and a helper enters them for it.
#include <fbleprof/fbleprof.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"

static char from[1 << 16], to[1 << 16];
static fbleprof_block blocks[4];

BLOCK void begin(int block) {
  fbleprof_enter(blocks[block]);
  KEEP;
}
BLOCK void end(int block) {
  fbleprof_leave(blocks[block]);
  KEEP;
}
BLOCK void get(int n) {
  memcpy(to, from, sizeof to - (unsigned)(n & 63));
  KEEP;
}

// (N and )N enter and leave block N, g gets, e evaluates a part of its own.
BLOCK void evaluate(const char* code) {
  for (; *code; ++code) {
    switch (*code) {
      case '(':
        begin(*++code - '0');
        break;
      case ')':
        end(*++code - '0');
        break;
      case 'g':
        for (int i = 0; i < 1000; ++i) get(i);
        break;
      default:
        evaluate("(2gg)2");
    }
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  static const char* const names[] = {"chunk", "a", "b", "c"};
  for (int i = 0; i < 4; ++i) blocks[i] = fbleprof_block_new(names[i], 0, 0);
  for (int i = 0; i < rounds; ++i) evaluate("(0g(1gg(2g)2)1(3e)3)0");
  // A green thread: work outside its blocks belongs to the context where it was made.
  fbleprof_context* thread = fbleprof_context_new(100);
  fbleprof_context_switch(thread);
  for (int i = 0; i < rounds; ++i) evaluate("g(1g)1");
  fbleprof_context_switch(0);
  fbleprof_context_free(thread);
  return to[5];
}
