// Uses every call of the C API. Prints the same with and without the library.
#include <fbleprof/fbleprof.h>
#include <string.h>

#include "block.h"

static fbleprof_block eval, list, string, first, second, third, green;

// eval, which calls itself through list
BLOCK void evaluate(int depth) {
  fbleprof_enter(eval);
  if (depth > 0) {
    fbleprof_enter(list);
    evaluate(depth - 1);
    fbleprof_leave(list);
  } else {
    fbleprof_enter(string);
    fbleprof_tick(10);
    fbleprof_leave(string);
  }
  fbleprof_leave(eval);
}

// first calls second, which becomes third
BLOCK void tail_calls(void) {
  fbleprof_enter(first);
  fbleprof_enter(second);
  fbleprof_replace(third);
  fbleprof_leave(third);
  fbleprof_leave(first);
}

// An interpreter's green thread: its stack is kept while another runs.
BLOCK void green_threads(void) {
  fbleprof_context* context = fbleprof_context_new(100);
  fbleprof_context* own = fbleprof_context_switch(context);
  fbleprof_enter(green);
  fbleprof_context_switch(own);
  fbleprof_enter(first);
  fbleprof_leave(first);
  fbleprof_context_switch(context);
  fbleprof_enter(string);
  fbleprof_leave(string);
  fbleprof_leave(green);
  fbleprof_context_switch(own);
  fbleprof_context_free(context);
}

static int count_visits(const fbleprof_visit* visit, void* argument) {
  const int is_overflow =
      visit->name_length == 10 && memcmp(visit->name, "[overflow]", visit->name_length) == 0;
  if (is_overflow && visit->calls == 0) puts("the query shows an empty [overflow]");
  ++*(int*)argument;
  return 0;
}

int main(void) {
  eval = fbleprof_block_new("eval", __FILE__, __LINE__);
  list = fbleprof_block_new("list", __FILE__, __LINE__);
  string = fbleprof_block_new("string", NULL, 0);
  first = fbleprof_block_new("first", NULL, 0);
  second = fbleprof_block_new("second", NULL, 0);
  third = fbleprof_block_new("third", NULL, 0);
  green = fbleprof_block_new("green thread", NULL, 0);
  const int recorded = fbleprof_is_enabled();
  for (int i = 0; i < 100; ++i) evaluate(5);
  for (int i = 0; i < 100; ++i) tail_calls();
  for (int i = 0; i < 100; ++i) green_threads();
  fbleprof_leave(list);  // unmatched: no harm
  fbleprof_stop();
  tail_calls();
  fbleprof_start();
  fbleprof_flush();

  int visits = 0;
  fbleprof_query(count_visits, &visits);
  if (recorded && visits < 7) puts("the query shows too little");

  expect("eval", "list", 500);
  expect("*", "list", 500);
  expect("eval", "string", 100);
  expect("*", "eval", 600);
  expect("first", "second", 100);
  expect("*", "third", 100);
  expect("*", "first", 200);
  return 0;
}
