// deep FRAMES: works below as many frames, for about a second and a half.
#include <stdlib.h>

static volatile unsigned sink;

__attribute__((noinline)) static void work(void) {
  for (unsigned i = 0; i < 1200000000u; ++i) sink = i;
}

__attribute__((noinline)) static int down(long frames) {
  if (frames == 0) {
    work();
    return 0;
  }
  return down(frames - 1) + 1;
}

int main(int argc, char** argv) { return argc > 1 && down(atol(argv[1])) < 0; }
