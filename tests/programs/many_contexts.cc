// many_contexts: more contexts than a small profile has room for. Deep ones allocate at first, and
// those above them later; every block is freed.
#include <cstdlib>

static unsigned state = 1;
static int phase;

template <int kNumber>
[[gnu::noinline]] static void call(int depth);

using Function = void (*)(int);
template <int kCount>
struct Table {
  static void fill(Function* functions) {
    functions[kCount - 1] = call<kCount - 1>;
    if constexpr (kCount > 1) Table<kCount - 1>::fill(functions);
  }
};
constexpr int kFunctions = 60;
static Function functions[kFunctions];

static Function any() {
  state = state * 1664525u + 1013904223u;
  return functions[(state >> 16) % kFunctions];
}

template <int kNumber>
void call(int depth) {
  void* block = nullptr;
  if (phase == (depth >= 2 ? 1 : 2)) block = std::malloc(64);
  if (depth > 0) any()(depth - 1);
  std::free(block);
  __asm__ volatile("");
}

int main() {
  Table<kFunctions>::fill(functions);
  for (int i = 0; i < 400'000; ++i) {
    phase = i < 100'000 ? 0 : i < 200'000 ? 1 : 2;
    any()(3);
  }
}
