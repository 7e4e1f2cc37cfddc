// Functions in a section that the linker places far from the rest of the program: between its
// segments is a gap that may hold a library.
#include "block.h"

#define FAR __attribute__((section(".far")))

FAR BLOCK void far_leaf(long units) { work(units); }

FAR BLOCK void far_work(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    far_leaf(100);
    KEEP;
    work(100);
  }
}

BLOCK void near_work(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    work(100);
    far_leaf(100);
    KEEP;
  }
}

int main(void) {
  far_work(1000);
  near_work(1000);
  puts("expect main far_work 1");
  puts("expect far_work far_leaf 1000");
  puts("expect main near_work 1");
  puts("expect near_work far_leaf 1000");
  return 0;
}
