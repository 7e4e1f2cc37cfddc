#include "unit/signal_safe/walk_subjects.h"

#include <alloca.h>
#include <setjmp.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace fbleprof::test {

namespace {

#define NOINLINE __attribute__((noinline, noipa))

int compare_ints(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

std::vector<int> scrambled(int items) {
  std::vector<int> values(static_cast<std::size_t>(items));
  unsigned next = 1;
  for (int& value : values) value = static_cast<int>((next = next * 1664525u + 1013904223u) >> 8);
  return values;
}

struct Counter {
  explicit Counter(std::uint64_t* count) : count(count) {}
  ~Counter() { ++*count; }
  std::uint64_t* count;
};

NOINLINE void throw_from(int depth, std::uint64_t* count) {
  Counter counter(count);
  if (depth == 0) throw std::runtime_error("as asked");
  try {
    throw_from(depth - 1, count);
  } catch (const std::logic_error&) {
    ++*count;
  } catch (...) {
    if (depth % 3 == 0) throw;
    throw std::runtime_error("again");
  }
}

NOINLINE std::uint64_t leaf(std::uint64_t x) { return x * 3 ^ x >> 7; }

NOINLINE std::uint64_t sum_bytes(const char* bytes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<unsigned char>(bytes[i]);
  return sum;
}

jmp_buf out;
NOINLINE void jump_from(int depth) {
  if (depth <= 0) longjmp(out, 1);
  if (depth > 0) jump_from(depth - 1);
  asm volatile("");
}

struct Shape {
  virtual ~Shape() = default;
  virtual std::uint64_t area(int depth) const = 0;
};
struct Square : Shape {
  NOINLINE std::uint64_t area(int depth) const override {
    return static_cast<std::uint64_t>(depth);
  }
};
struct Nested : Shape {
  explicit Nested(const Shape& inner) : inner(inner) {}
  NOINLINE std::uint64_t area(int depth) const override { return inner.area(depth + 1); }
  const Shape& inner;
};

}  // namespace

std::uint64_t sort_with_callbacks(int items) {
  std::vector<int> a = scrambled(items), b = a;
  std::qsort(a.data(), a.size(), sizeof a[0], compare_ints);
  std::sort(b.begin(), b.end(), [](int x, int y) {
    return leaf(static_cast<unsigned>(x)) < leaf(static_cast<unsigned>(y));
  });
  return static_cast<std::uint64_t>(a[a.size() / 2]) + static_cast<std::uint64_t>(b[0]);
}

std::uint64_t format_numbers(int count) {
  char text[128];
  std::uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const int length =
        std::snprintf(text, sizeof text, "%d %s %.7g %lx", i, "text", i / 7.0, 5l * i);
    sum += static_cast<std::uint64_t>(length) + std::strtoul(text, nullptr, 10);
  }
  return sum;
}

std::uint64_t match_regex(int count) {
  static const std::regex pattern("(a|b)*c([0-9]+)-(x.*y)?z");
  std::uint64_t found = 0;
  for (int i = 0; i < count; ++i) {
    const std::string text = "ababc" + std::to_string(i) + (i % 2 ? "-xyyyz" : "-z");
    found += std::regex_match(text, pattern);
  }
  return found;
}

std::uint64_t throw_and_catch(int depth) {
  std::uint64_t count = 0;
  try {
    throw_from(depth, &count);
  } catch (const std::exception& e) {
    count += std::strlen(e.what());
  }
  return count;
}

// Frames based on rbp below one that uses rbp for a value.
NOINLINE void throw_from_variable_frame(int depth, std::uint64_t* count) {
  Counter counter(count);
  char* memory = static_cast<char*>(alloca(static_cast<std::size_t>(depth * 16 + 16)));
  std::memset(memory, depth, static_cast<std::size_t>(depth * 16 + 16));
  if (depth == 0) throw std::runtime_error("thrown through frames of variable size");
  throw_from_variable_frame(depth - 1, count);
  *count += sum_bytes(memory, 4);
}

std::uint64_t throw_through_variable_frames(int depth) {
  std::uint64_t count = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      throw_from_variable_frame(depth, &count);
    } catch (const std::exception& e) {
      count += std::strlen(e.what());
    }
  }
  return count;
}

NOINLINE std::uint64_t recurse(int depth) {
  return depth == 0 ? leaf(1) : leaf(recurse(depth - 1) + static_cast<unsigned>(depth));
}

NOINLINE std::uint64_t recurse_with_alloca(int depth) {
  const std::size_t bytes = static_cast<std::size_t>(16 + depth % 7 * 24);
  char* memory = static_cast<char*>(alloca(bytes));
  std::memset(memory, depth, bytes);
  const std::uint64_t deeper = depth == 0 ? 0 : recurse_with_alloca(depth - 1);
  return deeper + sum_bytes(memory, bytes);
}

std::uint64_t leaves(int count) {
  std::uint64_t value = 1;
  for (int i = 0; i < count; ++i) value += leaf(value);
  return value;
}

// An aligned local, arguments on the stack and a frame of variable size: gcc bases the frame on r10
// in the prologue and on a slot of the frame after it.
NOINLINE std::uint64_t aligned_frame(int a, int b, int c, int d, int e, int f, int g, int h) {
  alignas(64) char buffer[128];
  std::memset(buffer, a + b + c, sizeof buffer);
  char* more = static_cast<char*>(alloca(static_cast<std::size_t>(g + h)));
  std::memset(more, d + e + f, static_cast<std::size_t>(g + h));
  return sum_bytes(buffer, sizeof buffer) + sum_bytes(more, static_cast<std::size_t>(g + h)) +
         static_cast<std::uint64_t>(g);
}

std::uint64_t vector_strings(int count) {
  std::uint64_t sum = 0;
  std::string text(300, 'x'), other(300, 'y');
  for (int i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) % 290;
    text[at] = 'z';
    std::memcpy(other.data(), text.data(), at);
    sum += std::strlen(text.c_str() + at) + (std::strchr(text.c_str(), 'z') != nullptr) +
           (std::memcmp(text.data(), other.data(), 300) != 0);
  }
  return sum;
}

std::uint64_t allocate(int count) {
  std::uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<std::unique_ptr<char[]>> kept;
    for (int j = 0; j < 20; ++j) {
      kept.push_back(std::make_unique<char[]>(static_cast<std::size_t>(1 + i * 37 % 5000 + j)));
    }
    sum += kept.size();
  }
  return sum;
}

std::uint64_t read_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_nsec >= 0;
}

std::uint64_t jump_over_frames(int depth) {
  if (setjmp(out) == 0) jump_from(depth);
  return 1;
}

std::uint64_t virtual_tail_call(int depth) {
  const Square square;
  const Nested once(square), twice(once);
  const Shape* volatile shape = &twice;
  return shape->area(depth);
}

}  // namespace fbleprof::test
