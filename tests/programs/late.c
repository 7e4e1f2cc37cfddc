// Recording begins when some functions run already: in the main thread and in another one, below a
// deep recursion, and again after a pause; and in blocks. Start it with recording off.
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdlib.h>

#include "block.h"

BLOCK void leaf(void) { KEEP; }
BLOCK void other(void) { KEEP; }
BLOCK void unseen(void) { KEEP; }

// Starts recording at the bottom.
BLOCK void deep(int depth) {
  if (depth > 0) {
    deep(depth - 1);
    leaf();
    KEEP;
    return;
  }
  fbleprof_start();
  for (int i = 0; i < 1000; ++i) leaf();
}

BLOCK void middle(void) {
  deep(20);
  for (int i = 0; i < 30; ++i) other();
}

// Its own entry is older than the pause; those of paused and resumed are missing.
BLOCK void resumed(void) {
  fbleprof_start();
  for (int i = 0; i < 50; ++i) leaf();
}
BLOCK void paused(void) {
  unseen();
  resumed();
  for (int i = 0; i < 60; ++i) other();
}
BLOCK void pauses(void) {
  fbleprof_stop();
  paused();
  for (int i = 0; i < 70; ++i) leaf();
}

BLOCK int compare(const void* a, const void* b) {
  leaf();
  return *(const int*)a - *(const int*)b;
}
BLOCK void sorts(void) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, compare);
}

// Starts in a block that nothing recorded, below one that was recorded or not.
static fbleprof_block outer, inner;
BLOCK void in_block(int i) {
  fbleprof_enter(inner);
  if (i == 1) fbleprof_start();
  leaf();
  fbleprof_leave(inner);
  KEEP;
}
BLOCK void in_blocks(void) {
  for (int i = 0; i < 12; ++i) in_block(i);
  other();
  KEEP;
}
BLOCK void below_block(void) {
  fbleprof_enter(outer);
  fbleprof_stop();
  in_blocks();
  fbleprof_leave(outer);
  KEEP;
}
BLOCK void below_none(void) {
  fbleprof_stop();
  in_blocks();
  KEEP;
}

// With -finstrument-functions, its exit hook is not its last step, as it has a result. No hook has
// seen its caller.
BLOCK int counts(int i) {
  if (i == 3) fbleprof_start();
  leaf();
  return i;
}
BLOCK int counts_up(void) {
  int sum = 0;
  for (int i = 0; i < 12; ++i) sum += counts(i);
  return sum;
}

BLOCK void in_thread(void) {
  for (int i = 0; i < 40; ++i) other();
}

static pthread_barrier_t barrier;
static void* run(void* unused) {
  unseen();
  pthread_barrier_wait(&barrier);  // recording is off
  pthread_barrier_wait(&barrier);  // recording is on
  in_thread();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, run, NULL);
  pthread_barrier_wait(&barrier);
  unseen();
  middle();
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  pauses();
  sorts();
  outer = fbleprof_block_new("outer", NULL, 0);
  inner = fbleprof_block_new("inner", NULL, 0);
  below_block();
  below_none();
  fbleprof_stop();
  counts_up();
  expect("*", "unseen", 0);
  expect("deep", "leaf", 1000 + 20);
  expect("middle", "other", 30);
  expect("run", "in_thread", 1);
  expect("in_thread", "other", 40);
  expect("resumed", "leaf", 50);
  expect("paused", "other", 60);
  expect("pauses", "leaf", 70);
  expect("in_blocks", "in_block", 2 * 10);
  expect("in_block", "inner", 2 * 10);
  expect("inner", "leaf", 2 * 10);
  expect("in_block", "leaf", 2);
  expect("in_blocks", "other", 2);
  for (const char* const* caller = (const char* const[]){"outer", "below_block", "below_none", 0};
       *caller; ++caller) {
    expect(*caller, "in_block", 0);
  }
  expect("counts_up", "counts", 8);
  expect("counts", "counts", 0);
  expect("counts", "leaf", 9);
  expect("main", "pauses", 1);
  expect("main", "sorts", 1);
  return 0;
}
