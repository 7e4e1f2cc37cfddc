// Exceptions through frames that are based on rbp, to a function that uses rbp for a value. While
// the unwinder leaves for its landing pad, it has that value in place of the frames' rbp.
#include <alloca.h>

#include <cstddef>
#include <cstdio>

namespace {

volatile long sink;

struct Guard {
  ~Guard() { sink = sink + 1; }
};

__attribute__((noinline)) void throw_below(int depth) {
  Guard guard;
  auto* room = static_cast<volatile char*>(alloca(static_cast<std::size_t>(depth * 16 + 16)));
  room[0] = static_cast<char>(depth);
  if (depth == 0) throw depth;
  throw_below(depth - 1);
  sink = sink + room[0];
}

__attribute__((noinline)) int catch_above(int times) {
  int caught = 0;
  for (int i = 0; i < times; ++i) {
    try {
      throw_below(i % 8);
    } catch (int) {
      ++caught;
    }
  }
  return caught;
}

}  // namespace

int main() { std::printf("%d\n", catch_above(60000)); }
