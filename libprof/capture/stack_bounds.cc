#include "capture/stack_bounds.h"

#include <algorithm>

#include "capture/kernel_file.h"
#include "capture/text.h"

extern "C" void* __libc_stack_end;

namespace fbleprof::capture {

StackBounds bounds_of_main_thread() {
  const auto end =
      (reinterpret_cast<std::uint64_t>(__libc_stack_end) + 0xffff) & ~std::uint64_t{0xfff};
  const std::uint64_t bytes = std::min(limit_of(RLIMIT_STACK), std::uint64_t{1} << 31);
  // Arguments and environment are above, and may take megabytes; they hold no frames.
  return {end - bytes, end + (std::uint64_t{1} << 20)};
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
