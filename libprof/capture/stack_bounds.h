// Where a thread's machine stack lies.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

struct StackBounds {
  std::uint64_t low = 0, high = 0;  // 0, 0 = unknown
};

StackBounds bounds_of_main_thread();

// Of a thread started by pthread_create: the stack below the caller, which is its start wrapper.
StackBounds bounds_of_new_thread(std::uint64_t stack_bytes);

}  // namespace fbleprof::capture
