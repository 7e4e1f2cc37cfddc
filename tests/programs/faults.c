// Touches argv[1] new pages in one function, with some work on each, and only computes in another.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "block.h"

BLOCK void touches(long pages) {
  char* memory = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
  for (long i = 0; i < pages; ++i) {
    memory[i * 4096] = 1;
    work(20);
  }
  munmap(memory, pages * 4096);
}

BLOCK void computes(void) { work(10000); }

int main(int argc, char** argv) {
  const long pages = argc > 1 ? atol(argv[1]) : 20000;
  for (int i = 0; i < 20; ++i) {
    touches(pages / 20);
    computes();
  }
  expect("main", "touches", 20), expect("main", "computes", 20);
  return 0;
}
