// What runtimes need from the C API: unbalanced calls, helpers with and without hooks, other exits,
// keys, marks, green threads that move, profiles within the process. Checks itself by queries, and
// prints failures; prints the same with and without the library.
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

static fbleprof_block named(const char* name) { return fbleprof_block_new(name, NULL, 0); }

static fbleprof_visit pair(fbleprof_block caller, fbleprof_block callee) {
  fbleprof_visit sum;
  memset(&sum, 0, sizeof sum);
  if (fbleprof_query_pair(caller, callee, &sum) != 0) printf("no block %u\n", callee);
  return sum;
}

UNHOOKED static void is(const char* what, uint64_t value, uint64_t expected) {
  if (value != expected)
    printf("%s: %lu, not %lu\n", what, (unsigned long)value, (unsigned long)expected);
}

// -- Helpers without hooks, called after a function with hooks has returned: its entry is stale.

BLOCK void callee(void) { KEEP; }
BLOCK UNHOOKED void helper_enter(fbleprof_block block) {
  fbleprof_enter(block);
  KEEP;
}
BLOCK UNHOOKED void helper_leave(fbleprof_block block) {
  fbleprof_leave(block);
  KEEP;
}
BLOCK UNHOOKED void helper_replace(fbleprof_block block) {
  fbleprof_replace(block);
  KEEP;
}
BLOCK UNHOOKED void helper_tick(void) {
  fbleprof_tick(1);
  KEEP;
}
BLOCK UNHOOKED fbleprof_context* helper_context(void) {
  fbleprof_context* context = fbleprof_context_new(0);
  KEEP;
  return context;
}

static fbleprof_block in_helper, replaced, in_context;

BLOCK void stale_entries(void) {
  callee();
  helper_enter(in_helper);
  callee();
  fbleprof_tick(1);
  helper_replace(replaced);
  callee();
  helper_tick();
  helper_leave(replaced);
  fbleprof_tick(100);
  callee();
  fbleprof_context* context = helper_context();
  fbleprof_context* own = fbleprof_context_switch(context);
  fbleprof_enter(in_context);
  fbleprof_leave(in_context);
  fbleprof_context_switch(own);
  fbleprof_context_free(context);
}

// A function with hooks around leave: its own entry lies above the block.
BLOCK void hooked_leave(fbleprof_block block) {
  fbleprof_leave(block);
  KEEP;
}

BLOCK void leave_in_a_wrapper(fbleprof_block block) {
  fbleprof_enter(block);
  hooked_leave(block);
  callee();
}

// -- Stacks out of step

static void out_of_step(void) {
  const fbleprof_block outer = named("outer"), many = named("many"), after = named("after");
  for (int i = 0; i < 3; ++i) {
    fbleprof_enter(outer);
    for (int k = 0; k < 2000; ++k) fbleprof_enter(many);
    fbleprof_leave(outer);  // and all that was entered since
    fbleprof_enter(after);
    fbleprof_leave_newest();
  }
  is("after outer", pair(outer, after).calls, 0);
  is("after", pair(0, after).calls, 3);

  fbleprof_context* context = fbleprof_context_new(10);
  const fbleprof_block first = named("first"), full = named("full"), still = named("still"),
                       then = named("then"), end = named("end");
  fbleprof_context* own = fbleprof_context_switch(context);
  fbleprof_enter(first);
  for (int i = 0; i < 30; ++i) fbleprof_enter(full);
  const uint64_t mark = fbleprof_mark();
  for (int i = 0; i < 1000; ++i) fbleprof_enter(full);
  fbleprof_rewind(mark);
  for (int i = 0; i < 21; ++i) fbleprof_leave(full);  // 21 of them found no place
  fbleprof_leave(full);
  fbleprof_enter(still);
  fbleprof_leave(still);
  for (int i = 0; i < 8; ++i) fbleprof_leave_newest();
  fbleprof_enter(then);
  fbleprof_leave(then);
  fbleprof_leave(first);
  fbleprof_enter(end);
  fbleprof_leave(end);
  fbleprof_context_switch(own);
  fbleprof_context_free(context);
  is("in full", pair(full, still).calls, 1);
  is("in first", pair(first, then).calls, 1);
  is("at the end", pair(0, end).calls - pair(first, end).calls - pair(full, end).calls, 1);
}

// -- Other ways to enter and to exit

static void other_ways(void) {
  const fbleprof_block a = named("way a"), b = named("way b"), c = named("way c"),
                       d = named("way d");
  const fbleprof_block sequence[3] = {a, b, c};
  for (int i = 0; i < 50; ++i) {
    const uint64_t mark = fbleprof_mark();
    fbleprof_enter_all(sequence, 3);
    fbleprof_tick(1);
    fbleprof_enter(d);
    fbleprof_rewind(mark);
  }
  is("sequence", pair(a, b).calls + pair(b, c).calls + pair(c, d).calls, 150);
  is("its ticks", pair(b, c).ticks, 50);

  const fbleprof_block goal = named("goal"), retry = named("retry"), below = named("below");
  for (int i = 0; i < 40; ++i) {
    fbleprof_enter(goal);
    fbleprof_enter(retry);
    fbleprof_leave(retry);
    fbleprof_redo(retry);
    uint64_t* counter = fbleprof_tick_counter();
    if (counter) *counter += 3;
    fbleprof_fail(retry);
    fbleprof_replace_below(below);
    fbleprof_leave_newest();
  }
  is("retried goals are counted once", pair(goal, retry).calls, 40);
  is("its ticks", pair(goal, retry).ticks, 120);
  is("below the replaced", pair(goal, below).calls, 40);
}

// -- Numbers and keys

static int look_for_source(const fbleprof_visit* visit, void* argument) {
  if (visit->block != *(fbleprof_block*)argument) return 0;
  const int is_right = visit->line == 7 && visit->column == 3 && visit->file_length == 6 &&
                       memcmp(visit->file, "code.x", 6) == 0 && visit->name_length == 3 &&
                       memcmp(visit->name, "new", 3) == 0;
  return is_right ? 1 : 2;
}

static void numbers_and_keys(void) {
  fbleprof_source source = {"old", "code.x", 7, 3, "X"};
  is("own number", fbleprof_block_add(4711, &source), 4711);
  is("the same again", fbleprof_block_add(4711, &source), 4711);
  is("too large a number", fbleprof_block_add(FBLEPROF_MOST_NUMBER + 1, &source), 0);
  fbleprof_enter(4711);
  fbleprof_leave(4711);
  is("rename", (uint64_t)fbleprof_block_rename(4711, "new"), 0);
  fbleprof_block block = 4711;
  is("its source", (uint64_t)fbleprof_query(look_for_source, &block), 1);
  static char objects[300000];
  for (int i = 0; i < 300000; i += 3) {
    source.line = (uint32_t)i;
    fbleprof_block_with_key((uintptr_t)&objects[i], &source);
  }
  int unknown = 0;
  for (int i = 0; i < 300000; i += 3) unknown += fbleprof_block_of_key((uintptr_t)&objects[i]) == 0;
  is("lost keys", (uint64_t)unknown, 0);
  is("unknown key", fbleprof_block_of_key((uintptr_t)&objects[1]), 0);
  const fbleprof_block before = fbleprof_block_of_key((uintptr_t)&objects[3]);
  source.line = 3;
  is("the same function", fbleprof_block_with_key((uintptr_t)&objects[3], &source), before);
  source.line = 4;
  is("another at its address", fbleprof_block_with_key((uintptr_t)&objects[3], &source) != before,
     1);
}

// -- Threads

static fbleprof_context* moving;
static fbleprof_block in_thread;

static void* end_inside(void* argument) {
  fbleprof_context_switch(moving);
  fbleprof_enter(in_thread);
  return argument;
}

static void threads_that_end_inside(void) {
  in_thread = named("in thread");
  const fbleprof_block last = named("last");
  moving = fbleprof_context_new(0);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_inside, NULL) == 0) pthread_join(thread, NULL);
  }
  fbleprof_context_switch(moving);
  fbleprof_enter(last);
  fbleprof_leave(last);
  fbleprof_leave(in_thread);
  fbleprof_leave(in_thread);
  is("in a context", fbleprof_context_current() == moving, 1);
  is("not while in it", fbleprof_context_reset(moving) == -1, 1);
  fbleprof_context_switch(NULL);
  is("last", pair(in_thread, last).calls, 1);
  is("reset", (uint64_t)fbleprof_context_reset(moving), 0);

  // A forked child has a tree of its own.
  fbleprof_context_switch(moving);
  fbleprof_enter(in_thread);
  fbleprof_context_switch(NULL);
  const pid_t child = fork();
  if (child == 0) {
    fbleprof_context_switch(moving);
    fbleprof_enter(last);
    fbleprof_leave(last);
    fbleprof_context_switch(NULL);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  is("child", (uint64_t)status, 0);
  fbleprof_context_free(moving);
}

// -- Profiles

static fbleprof_profile *one, *two;
static fbleprof_block step, substep;

static void steps(int count) {
  for (int i = 0; i < count; ++i) {
    fbleprof_enter(step);
    fbleprof_tick(1);
    fbleprof_enter(substep);
    fbleprof_tick(2);
    fbleprof_leave(substep);
    fbleprof_leave(step);
  }
}

static void* steps_in_thread(void* argument) {
  fbleprof_profile* before = fbleprof_profile_with(one);
  steps(5);
  fbleprof_profile_with(before);
  return argument;
}

// Does not restore the profile: that happens when the function ends, if it has hooks.
BLOCK void forgetful(void) {
  fbleprof_profile_with(two);
  steps(1);
  KEEP;
}

static void profiles(void) {
  step = named("step");
  substep = named("substep");
  one = fbleprof_profile_new("one");
  two = fbleprof_profile_new("two");
  steps(1);
  fbleprof_profile* own = fbleprof_profile_with(one);
  steps(10);
  fbleprof_profile* before = fbleprof_profile_with(two);
  is("nested", before == one, 1);
  steps(100);
  fbleprof_context* context = fbleprof_context_new(0);
  fbleprof_context* stack = fbleprof_context_switch(context);
  steps(100);
  fbleprof_context_switch(stack);
  fbleprof_context_free(context);
  fbleprof_profile_with(before);
  steps(10);
  fbleprof_profile_free(one);  // refused: it is in use
  fbleprof_profile_with(own);
  pthread_t thread;
  if (pthread_create(&thread, NULL, steps_in_thread, NULL) == 0) pthread_join(thread, NULL);
  steps(1);
  is("written", (uint64_t)fbleprof_profile_write(one, "one.profile"), 0);
  is("written", (uint64_t)fbleprof_profile_write(two, "two.profile"), 0);
  is("no such directory", fbleprof_profile_write(two, "no/such.profile") != 0, 1);
  fbleprof_profile_free(two);
  fbleprof_profile* three = fbleprof_profile_new("three");
  own = fbleprof_profile_with(three);
  steps(7);
  fbleprof_profile_with(own);
  is("written", (uint64_t)fbleprof_profile_write(three, "three.profile"), 0);
  is("written", (uint64_t)fbleprof_profile_write(NULL, "own.profile"), 0);
}

int main(void) {
  in_helper = named("in_helper");
  replaced = named("replaced");
  in_context = named("in_context");
  const fbleprof_block left = named("left");
  for (int i = 0; i < 10; ++i) stale_entries();
  for (int i = 0; i < 10; ++i) leave_in_a_wrapper(left);
  expect("stale_entries", "in_helper", 10);
  expect("stale_entries", "in_context", 10);
  expect("leave_in_a_wrapper", "left", 10);
  if (!fbleprof_is_enabled()) return 0;
  is("ticks", pair(0, in_helper).ticks * 1000 + pair(0, replaced).ticks, 10010);
  out_of_step();
  other_ways();
  numbers_and_keys();
  threads_that_end_inside();
  profiles();
  forgetful();
  callee();
  return 0;
}
