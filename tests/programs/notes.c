// Call trees with a known compacted form. argv[1] names the tree, argv[2] a size.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "block.h"

static volatile long sink;

// a b b b c
BLOCK void c(void) { sink = sink + 1; }
BLOCK void b(int level) {
  if (level > 1)
    b(level - 1);
  else
    c();
  KEEP;
}
BLOCK void a(void) {
  b(3);
  KEEP;
}

// a b a b c, with functions that call each other
BLOCK void b2(int level);
BLOCK void a2(int level) {
  b2(level);
  KEEP;
}
BLOCK void b2(int level) {
  if (level > 1)
    a2(level - 1);
  else
    c();
  KEEP;
}

// Mutual recursion, entered from either side
BLOCK void pong(int level);
BLOCK void ping(int level) {
  if (level > 0) pong(level - 1);
  KEEP;
}
BLOCK void pong(int level) {
  if (level > 0) ping(level - 1);
  KEEP;
}

// 1 2⇒3: one calls two, two tail-calls three
BLOCK int three(int x) {
  sink = sink + x;
  return x;
}
BLOCK int two(int x) { return three(x + 1); }
BLOCK int one(int x) {
  int y = two(x);
  KEEP;
  return y + 1;
}

// A tail call that loops: the stack never grows
BLOCK int bounce_back(int n);
BLOCK int bounce(int n) {
  if (n == 0) return 0;
  return bounce_back(n - 1);
}
BLOCK int bounce_back(int n) {
  if (n == 0) return 0;
  return bounce(n - 1);
}

// Deep recursion
BLOCK void deep(long level) {
  if (level > 1) deep(level - 1);
  KEEP;
}

// A square-free sequence of calls over three functions, all nested: no suffix ever repeats. The
// next function is given by differences of neighbours in the Thue-Morse sequence.
static unsigned char* word;
static long word_length;
BLOCK void s0(long at);
BLOCK void s1(long at);
BLOCK void s2(long at);
INLINE void step(long at) {
  if (at >= word_length) return;
  if (word[at] == 0)
    s0(at + 1);
  else if (word[at] == 1)
    s1(at + 1);
  else
    s2(at + 1);
  KEEP;
}
BLOCK void s0(long at) { step(at); }
BLOCK void s1(long at) { step(at); }
BLOCK void s2(long at) { step(at); }
BLOCK void square_free(void) { step(0); }

UNHOOKED static void make_word(long length) {
  static const char* names[] = {"s0", "s1", "s2"};
  long pairs[3][3] = {{0}};
  word_length = length;
  word = malloc(length);
  for (long i = 0; i < length; ++i) word[i] = __builtin_parityl(i + 1) - __builtin_parityl(i) + 1;
  for (long i = 1; i < length; ++i) pairs[word[i - 1]][word[i]]++;
  expect("square_free", names[word[0]], 1);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (pairs[i][j]) expect(names[i], names[j], pairs[i][j]);
}

BLOCK void* run_deep(void* levels) {
  deep((long)levels);
  KEEP;
  return NULL;
}

int main(int argc, char** argv) {
  const char* tree = argc > 1 ? argv[1] : "abbbc";
  long size = argc > 2 ? atol(argv[2]) : 0;
  if (!strcmp(tree, "abbbc")) {
    a();
    expect("main", "a", 1), expect("a", "b", 1), expect("b", "b", 2), expect("b", "c", 1);
  } else if (!strcmp(tree, "ababc")) {
    a2(2);
    expect("main", "a2", 1), expect("a2", "b2", 2), expect("b2", "a2", 1), expect("b2", "c", 1);
  } else if (!strcmp(tree, "mutual")) {
    ping(9);
    pong(5);
    expect("main", "ping", 1), expect("main", "pong", 1);
    expect("ping", "pong", 5 + 2), expect("pong", "ping", 4 + 3);
  } else if (!strcmp(tree, "tail")) {
    for (int i = 0; i < 100; ++i) one(i);
    expect("main", "one", 100), expect("one", "two", 100);
  } else if (!strcmp(tree, "bounce")) {
    bounce(1000000);
    expect("*", "bounce", 500001), expect("*", "bounce_back", 500000);
  } else if (!strcmp(tree, "squarefree")) {
    make_word(size);
    square_free();
  } else if (!strcmp(tree, "deep")) {
    // 200 bytes a level is more than any hook mode needs; untouched pages cost nothing.
    size_t bytes = (size_t)size * 200 + (1 << 20);
    void* stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (stack == MAP_FAILED || pthread_attr_setstack(&attributes, stack, bytes) != 0 ||
        pthread_create(&thread, &attributes, run_deep, (void*)size) != 0)
      return 1;
    pthread_join(thread, NULL);
    expect("run_deep", "deep", 1), expect("deep", "deep", size - 1);
  } else {
    return 2;
  }
  return 0;
}
