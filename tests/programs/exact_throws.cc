// Exceptions through rewritten functions, virtual and std::function calls, in several threads.
#include <pthread.h>

#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Counted {
  int* count;
  ~Counted() { ++*count; }
};

__attribute__((noinline)) int throw_below(int depth, int* count) {
  Counted counted{count};
  if (depth == 0) throw std::runtime_error("thrown at " + std::to_string(*count % 10));
  return throw_below(depth - 1, count) + 1;
}

__attribute__((noinline)) int catch_above(int depth, int* count) {
  try {
    return throw_below(depth, count);
  } catch (const std::runtime_error& error) {
    return static_cast<int>(std::string(error.what()).size());
  }
}

struct Base {
  virtual int value(int x) = 0;
  virtual ~Base() = default;
};
struct Plain : Base {
  int value(int x) override { return x + 1; }
};
struct Throwing : Base {
  int value(int x) override {
    if (x % 97 == 0) throw x;
    return x * 2;
  }
};

long work() {
  std::map<int, std::function<int(int)>> functions;
  for (int i = 0; i < 100; ++i) functions[i] = [i](int x) { return x ^ i; };
  Plain plain;
  Throwing throwing;
  Base* both[] = {&plain, &throwing};
  long result = 0;
  for (int i = 0; i < 30000; ++i) {
    try {
      result += functions[i % 100](both[i & 1]->value(i));
    } catch (int x) {
      result -= x;
    }
  }
  return result;
}

}  // namespace

int main() {
  int count = 0;
  long sum = 0;
  for (int i = 0; i < 5000; ++i) sum += catch_above(i % 20, &count);
  long results[4] = {};
  std::vector<std::thread> threads;
  // All allocate at once: how many heaps malloc makes must not depend on how fast they are.
  pthread_barrier_t together;
  pthread_barrier_init(&together, nullptr, 4);
  for (long& result : results) {
    threads.emplace_back([&] {
      result = work();
      pthread_barrier_wait(&together);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld %d %ld %ld\n", sum, count, results[0], results[3]);
}
