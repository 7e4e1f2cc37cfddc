// Loses a block of memory, for a search for leaks to find.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void* volatile block = malloc(100);
  block = NULL;
  puts(block ? "kept" : "lost");
  return 0;
}
