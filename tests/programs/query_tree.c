// Queries a tree of 200,000 contexts and more: each is listed once, with its calls of every kind. A
// spine of blocks, each of which calls the next one and all the leaves.
#include <fbleprof/fbleprof.h>
#include <string.h>

#include "block.h"

enum { DEPTH = 1000, LEAVES = 200 };

static fbleprof_block spine[DEPTH], leaf[LEAVES], again, first, second;

struct Seen {
  long spine, leaves, others, again_nodes, again_calls, back_calls, tail_calls, wrong;
  unsigned depth;
};

static int starts_with(const fbleprof_visit* visit, const char* text) {
  const size_t length = strlen(text);
  return visit->name && visit->name_length >= length && memcmp(visit->name, text, length) == 0;
}

static int look(const fbleprof_visit* visit, void* argument) {
  struct Seen* seen = (struct Seen*)argument;
  // Parents before children: at most one level deeper than the node before.
  if (visit->depth > seen->depth + 1) ++seen->wrong;
  seen->depth = visit->depth;
  if (starts_with(visit, "spine")) {
    ++seen->spine;
    if (visit->calls != 1 || visit->back_calls != 0 || visit->tail_calls != 0) ++seen->wrong;
  } else if (starts_with(visit, "leaf")) {
    ++seen->leaves;
    if (visit->calls != 2 || visit->back_calls != 0 || visit->tail_calls != 0) ++seen->wrong;
  } else if (starts_with(visit, "again")) {
    ++seen->again_nodes;
    seen->again_calls += (long)visit->calls;
    seen->back_calls += (long)visit->back_calls;
  } else if (starts_with(visit, "second")) {
    seen->tail_calls += (long)visit->tail_calls;
  } else {
    ++seen->others;
  }
  return 0;
}

static int stop_at_tenth(const fbleprof_visit* visit, void* argument) {
  (void)visit;
  return ++*(int*)argument == 10 ? 42 : 0;
}

static fbleprof_block named(const char* name, int number) {
  char text[32];
  snprintf(text, sizeof text, "%s %d", name, number);
  return fbleprof_block_new(text, NULL, 0);
}

int main(void) {
  for (int i = 0; i < DEPTH; ++i) spine[i] = named("spine", i);
  for (int i = 0; i < LEAVES; ++i) leaf[i] = named("leaf", i);
  again = fbleprof_block_new("again", NULL, 0);
  first = fbleprof_block_new("first", NULL, 0);
  second = fbleprof_block_new("second", NULL, 0);
  if (!fbleprof_is_enabled()) return 0;

  for (int i = 0; i < DEPTH; ++i) {
    fbleprof_enter(spine[i]);
    for (int j = 0; j < 2 * LEAVES; ++j) {
      fbleprof_enter(leaf[j % LEAVES]);
      fbleprof_leave(leaf[j % LEAVES]);
    }
  }
  for (int i = 0; i < 5; ++i) fbleprof_enter(again);  // two contexts; three calls fold
  for (int i = 0; i < 5; ++i) fbleprof_leave(again);
  for (int i = 0; i < 7; ++i) {
    fbleprof_enter(first);
    fbleprof_replace(second);
    fbleprof_leave(second);
  }

  struct Seen seen = {0};
  const int result = fbleprof_query(look, &seen);
  if (result != 0) printf("the query returned %d\n", result);
  if (seen.spine != DEPTH) printf("%ld blocks of the spine\n", seen.spine);
  if (seen.leaves != (long)DEPTH * LEAVES) printf("%ld leaves\n", seen.leaves);
  if (seen.again_nodes != 2 || seen.again_calls != 2 || seen.back_calls != 3) {
    printf("recursion: %ld contexts, %ld calls, %ld back calls\n", seen.again_nodes,
           seen.again_calls, seen.back_calls);
  }
  if (seen.tail_calls != 7) printf("%ld tail calls\n", seen.tail_calls);
  if (seen.others > 20) printf("%ld other contexts\n", seen.others);
  if (seen.wrong != 0) printf("%ld contexts with wrong figures\n", seen.wrong);
  int visits = 0;
  const int stopped = fbleprof_query(stop_at_tenth, &visits);
  if (stopped != 42 || visits != 10) printf("stopped with %d after %d visits\n", stopped, visits);
  return 0;
}
