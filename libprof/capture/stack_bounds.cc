#include "capture/stack_bounds.h"

#include <algorithm>

#include "capture/kernel_file.h"

extern "C" void* __libc_stack_end;

namespace fbleprof::capture {

StackBounds bounds_of_main_thread() {
  const auto end =
      (reinterpret_cast<std::uint64_t>(__libc_stack_end) + 0xffff) & ~std::uint64_t{0xfff};
  const std::uint64_t bytes = std::min(limit_of(RLIMIT_STACK), std::uint64_t{1} << 31);
  // Arguments and environment lie above, and may be megabytes; they hold no frames.
  return {end - bytes, end + (std::uint64_t{1} << 20)};
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
