// Hooked functions that the compiler inlines, under -finstrument-functions: they remain separate,
// in the context of the function that they were inlined into.
#include <cstdlib>

#include "block.h"

namespace {

volatile long sink;

struct Shape {
  virtual ~Shape() = default;
  virtual void draw(long units) = 0;
};

}  // namespace

BLOCK void leaf(long units) {
  work(units);
  KEEP;
}

EXTERN_C inline __attribute__((always_inline)) void inner(long units) {
  leaf(units);
  sink = sink + 1;
}

EXTERN_C inline __attribute__((always_inline)) void middle(long units) {
  inner(units);
  inner(units);
  sink = sink + 2;
}

BLOCK void outer(long units) {
  middle(units);
  if (units < 0) {  // never: a part that the compiler puts elsewhere
    inner(1);
    std::abort();
  }
  sink = sink + 3;
}

// The host's frame changes after its start. For calls by inlined functions from there, only the
// host is known as caller.
BLOCK void with_alloca(long units) {
  volatile char* room = static_cast<char*>(__builtin_alloca(units % 3 * 64 + 64));
  room[0] = 1;
  inner(units);
  sink = sink + room[0];
}

BLOCK void recursive(long depth) {
  inner(1);
  if (depth > 1) recursive(depth - 1);
  KEEP;
}

BLOCK void thrower() { throw 1; }
EXTERN_C inline __attribute__((always_inline)) void catcher() {
  try {
    thrower();
  } catch (int) {
    leaf(1);
  }
}
BLOCK void catches() {
  catcher();
  KEEP;
}

namespace {
struct Circle : Shape {
  void draw(long units) override { middle(units); }
};
}  // namespace

int main() {
  const long rounds = 3000;
  Circle circle;
  Shape* volatile shape = &circle;
  for (long i = 0; i < rounds; ++i) {
    outer(20);
    with_alloca(i % 3 + 1);
    shape->draw(1);
    catches();
    middle(1);
  }
  for (int i = 0; i < 10; ++i) recursive(50);
  expect("main", "outer", rounds);
  expect("main", "with_alloca", rounds);
  expect("main", "middle", rounds);
  expect("outer", "middle", rounds);
  expect("with_alloca", "inner", rounds);
  expect("*", "middle", 3 * rounds);
  expect("middle", "inner", 6 * rounds);
  expect("recursive", "inner", 500);
  expect("inner", "leaf", 6 * rounds + 500);
  expect("with_alloca", "leaf", rounds);
  expect("catches", "catcher", rounds);
  expect("catcher", "thrower", rounds);
  expect("catcher", "leaf", rounds);
  expect("outer", "leaf", 0);
  expect("main", "leaf", 0);
}
