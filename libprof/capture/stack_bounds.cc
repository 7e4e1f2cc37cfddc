#include "capture/stack_bounds.h"

#include <sys/auxv.h>

#include <algorithm>

#include "capture/kernel_file.h"
#include "capture/text.h"

extern "C" void* __libc_stack_end;

namespace fbleprof::capture {

namespace {

// The end of the last page of the main stack that is known to be mapped: walks read up to it. The
// kernel puts the program's name above all arguments and variables. A loader that was started as a
// program (ld.so PROGRAM) replaces it by the first argument, which is on the stack, too.
std::uint64_t end_of_main_stack() {
  constexpr std::uint64_t kPage = 4096, kMostArguments = 8 << 20;
  const auto arguments = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  const std::uint64_t name = getauxval(AT_EXECFN);
  const bool is_above = name > arguments && name - arguments < kMostArguments;
  return ((is_above ? name : arguments) | (kPage - 1)) + 1;
}

#ifndef AT_MINSIGSTKSZ
constexpr unsigned long AT_MINSIGSTKSZ = 51;
#endif

}  // namespace

std::uint64_t signal_frame_bytes() { return getauxval(AT_MINSIGSTKSZ); }

StackBounds bounds_of_main_thread() {
  const std::uint64_t end = end_of_main_stack();
  return {end - std::min(limit_of(RLIMIT_STACK), std::uint64_t{1} << 31), end};
}

namespace {
// A number in hexadecimal digits, and the character behind it.
struct Hex {
  std::uint64_t value = 0;
  bool add(char c) {
    const int digit = hex_digit(c);
    if (digit >= 0) value = value * 16 + static_cast<std::uint64_t>(digit);
    return digit >= 0;
  }
};
}  // namespace

StackBounds bounds_of_stack_at(std::uint64_t place) {
  const File maps("/proc/self/maps", O_RDONLY);
  char bytes[4096];
  Hex numbers[2];
  int at = 0;  // which number is being read; 2: neither, up to the end of the line
  for (std::uint64_t offset = 0;;) {
    const long got = maps ? maps.read(offset, bytes, sizeof bytes) : 0;
    if (got <= 0) return {0, 0};
    for (long i = 0; i < got; ++i) {
      if (bytes[i] == '\n') {
        if (place >= numbers[0].value && place < numbers[1].value) {
          return {numbers[0].value, numbers[1].value};
        }
        numbers[0] = numbers[1] = {};
        at = 0;
      } else if (at < 2 && !numbers[at].add(bytes[i])) {
        ++at;
      }
    }
    offset += static_cast<std::uint64_t>(got);
  }
}

std::uint64_t end_of_frames(std::uint64_t here, std::uint64_t high) {
  const auto end = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  return here < end && end < high ? end : high;
}

StackBounds bounds_of_new_thread(std::uint64_t stack_bytes) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  // The thread's control block and static TLS lie above its first frame, on the same mapping.
  return {here > stack_bytes ? here - stack_bytes : 0, here + 4096};
}

}  // namespace fbleprof::capture
