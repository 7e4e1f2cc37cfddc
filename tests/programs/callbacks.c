// Code without hooks (libc's) calls back, first for a function that is still there, then at the
// same place of the stack after that function has returned: its entry then seems alive by its
// address, and the call comes from the same instruction. Who called whom is counted here, too.
#include <alloca.h>
#include <search.h>
#include <stdlib.h>

#include "block.h"

static long compared, visited, entered;

// A leaf, and one that makes calls.
BLOCK int compare(const void* a, const void* b) {
  ++compared;
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}
BLOCK void count(void) { ++entered; }
BLOCK int compare_and_count(const void* a, const void* b) {
  count();
  KEEP;
  return compare(a, b);
}

BLOCK void sort_some(int* numbers, int n) {
  if (n > 1) qsort(numbers, n, sizeof *numbers, compare);
  KEEP;
}
BLOCK void sort_calling(int* numbers, int n) {
  if (n > 1) qsort(numbers, n, sizeof *numbers, compare_and_count);
  KEEP;
}

BLOCK void visit(const void* node, VISIT order, int level) {
  (void)node, (void)order, (void)level;
  ++visited;
}
BLOCK void walk_some(const void* root, int is_wanted) {
  if (is_wanted) twalk(root, visit);
  KEEP;
}

// Calls itself, and then `function`: many frames without hooks between two functions that have
// some.
__attribute__((noinline)) UNHOOKED static void descend(int frames, void (*function)(void)) {
  if (frames > 1) {
    descend(frames - 1, function);
  } else {
    function();
  }
  KEEP;
}
BLOCK void met(void) { ++entered; }
BLOCK void deeply(int frames) {
  descend(frames, met);
  KEEP;
}
BLOCK void other(void) { KEEP; }
BLOCK void after_other(int frames) {
  other();
  KEEP;
  descend(frames, met);
  KEEP;
}

// A function with a large frame, and code without hooks whose frame grows until it is as large:
// then all further calls stand at the same places of the stack as below the function that has
// ended.
__attribute__((noinline)) UNHOOKED static void innermost(void (*function)(void)) {
  function();
  KEEP;
}
__attribute__((noinline)) UNHOOKED static void inner(void (*function)(void)) {
  innermost(function);
  KEEP;
}
enum { kRoom = 512 };
BLOCK void holds_room(void) {
  char room[kRoom];
  __asm__ volatile("" ::"r"(room) : "memory");
  inner(met);
  KEEP;
}
__attribute__((noinline)) UNHOOKED static void with_room(long bytes, void (*function)(void)) {
  volatile char* room = alloca(bytes);
  room[0] = 1;
  inner(function);
  KEEP;
}
BLOCK void same_places(void) {
  for (long bytes = 8; bytes < 2 * kRoom; bytes += 8) {
    holds_room();
    KEEP;
    with_room(bytes, met);
    KEEP;
  }
}

// Calls the function from two places, where its own frame is not equally large. The larger one
// holds what the smaller one's return address was, in the same place.
void lays_out(void (*function)(void), int is_large);
__asm__(
    ".local returned_to\n"
    ".comm returned_to, 8, 8\n"
    ".type lays_out, @function\n"
    "lays_out:\n"
    ".cfi_startproc\n"
    "  test %esi, %esi\n"
    "  jnz 1f\n"
    "  mov (%rsp), %rax\n"
    "  mov %rax, returned_to(%rip)\n"
    "  sub $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call *%rdi\n"
    "  add $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  ret\n"
    "1: mov returned_to(%rip), %rax\n"
    "  sub $40, %rsp\n"
    "  .cfi_adjust_cfa_offset 40\n"
    "  mov %rax, 8(%rsp)\n"
    "  call *%rdi\n"
    "  add $40, %rsp\n"
    "  .cfi_adjust_cfa_offset -40\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size lays_out, . - lays_out\n");
BLOCK void small_layout(void) {
  char room[kRoom];
  __asm__ volatile("" ::"r"(room) : "memory");
  lays_out(met, 0);
  KEEP;
}
__attribute__((noinline)) UNHOOKED static void large_layout(long bytes) {
  volatile char* room = alloca(bytes);
  room[0] = 1;
  lays_out(met, 1);
  KEEP;
}
BLOCK void layouts(void) {
  for (long bytes = 8; bytes < 2 * kRoom; bytes += 8) {
    small_layout();
    KEEP;
    large_layout(bytes);
    KEEP;
  }
}

enum { kRounds = 300, kNodes = 40, kNumbers = 300 };
static int numbers[kNumbers];

BLOCK void shuffle(void) {
  static unsigned seed = 1;
  for (int i = 0; i < kNumbers; ++i) numbers[i] = (seed = seed * 1103515245 + 12345) >> 16;
}

BLOCK void sorts(void) {
  int two[2] = {2, 1};
  long in_some = 0, own = 0, before;
  for (int i = 0; i < kRounds; ++i) {
    before = compared;
    sort_some(two, 1 + i % 2);
    KEEP;
    in_some += compared - before;
    before = compared;
    qsort(two, 2, sizeof *two, compare);
    KEEP;
    own += compared - before;
  }
  expect("sort_some", "compare", in_some);
  expect("sorts", "compare", own);
}

// Many frames of qsort's, at changing depths.
BLOCK void long_sorts(void) {
  long in_calling = 0, own = 0, before;
  for (int i = 0; i < 10; ++i) {
    shuffle();
    KEEP;
    before = entered;
    sort_calling(numbers, i % 2 ? kNumbers : 1);
    KEEP;
    in_calling += entered - before;
    shuffle();
    KEEP;
    before = entered;
    qsort(numbers, kNumbers, sizeof *numbers, compare_and_count);
    KEEP;
    own += entered - before;
  }
  expect("sort_calling", "compare_and_count", in_calling);
  expect("long_sorts", "compare_and_count", own);
}

BLOCK void walks(void) {
  static int keys[kNodes];
  void* root = NULL;
  for (int i = 0; i < kNodes; ++i) {
    keys[i] = i * 7 % kNodes;
    tsearch(&keys[i], &root, compare);
  }
  long in_some = 0, own = 0, before;
  for (int i = 0; i < kRounds; ++i) {
    before = visited;
    walk_some(root, i % 3 == 0);
    KEEP;
    in_some += visited - before;
    before = visited;
    twalk(root, visit);
    KEEP;
    own += visited - before;
  }
  expect("walk_some", "visit", in_some);
  expect("walks", "visit", own);
}

BLOCK void descents(void) {
  for (int i = 0; i < kRounds; ++i) {
    after_other(1 + i % 100);
    KEEP;
    deeply(100 - i % 100);
    KEEP;
  }
}

int main(void) {
  sorts();
  long_sorts();
  walks();
  descents();
  same_places();
  layouts();
  // With --exact, what calls back counts as well.
  if (getenv("DESCEND_COUNTS") == NULL) {
    expect("deeply", "met", kRounds);
    expect("after_other", "met", kRounds);
    expect("holds_room", "met", 2 * kRoom / 8 - 1);
    expect("same_places", "met", 2 * kRoom / 8 - 1);
    expect("small_layout", "met", 2 * kRoom / 8 - 1);
    expect("layouts", "met", 2 * kRoom / 8 - 1);
  }
  fflush(stdout);
  return 0;
}
