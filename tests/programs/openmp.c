// OpenMP's own threads.
#include <omp.h>

#include "block.h"

BLOCK void item(void) { work(10); }
BLOCK void team(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < 10000; ++i) item();
  KEEP;
}

int main(void) {
  omp_set_num_threads(4);
  for (int i = 0; i < 10; ++i) team();
  expect("main", "team", 10);
  expect("*", "item", 100000);
  return 0;
}
