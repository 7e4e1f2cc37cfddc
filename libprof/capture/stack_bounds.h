// Where a thread's machine stack lies.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

struct StackBounds {
  std::uint64_t low = 0, high = 0;  // 0, 0 = unknown
};

// Everything from a live frame up to `high` is mapped. Async-signal-safe.
StackBounds bounds_of_main_thread();

// For a thread started by pthread_create: the stack below the caller, which is its start wrapper.
StackBounds bounds_of_new_thread(std::uint64_t stack_bytes);

// For a stack of which only one address is known: the mapping around it, from /proc/self/maps. 0, 0
// if that cannot be read. Async-signal-safe.
StackBounds bounds_of_stack_at(std::uint64_t place);

// The end of the readable frames above `here`, on a stack whose bound is `high`.
std::uint64_t end_of_frames(std::uint64_t here, std::uint64_t high);

// The largest frame that the kernel makes for a signal; 0: it does not tell (before Linux 5.14).
std::uint64_t signal_frame_bytes();

}  // namespace fbleprof::capture
