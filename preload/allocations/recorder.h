// What the wrappers tell the recorder. Without it (only this library was preloaded) they tell
// nobody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "signal_safe/allocation_calls.h"

#define FBLEPROF_INTERPOSE extern "C" __attribute__((visibility("default")))
// Of the wrapper that uses it: where its caller's frame pointer and return address are.
#define FBLEPROF_CALLER reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))

extern "C" {
extern decltype(fbleprof_allocated) fbleprof_allocated __attribute__((weak));
extern decltype(fbleprof_freeing) fbleprof_freeing __attribute__((weak));
extern decltype(fbleprof_take_block) fbleprof_take_block __attribute__((weak));
extern decltype(fbleprof_taken_was_freed) fbleprof_taken_was_freed __attribute__((weak));
extern decltype(fbleprof_put_block_back) fbleprof_put_block_back __attribute__((weak));
extern decltype(fbleprof_mapped) fbleprof_mapped __attribute__((weak));
extern decltype(fbleprof_unmapping) fbleprof_unmapping __attribute__((weak));
}

namespace fbleprof::preload {

// How many allocations this thread has told of. An allocator's function may call another one that
// is wrapped, too, or may not: whoever calls it looks whether the number has changed.
extern __thread std::uint64_t told __attribute__((tls_model("initial-exec")));

inline void tell(std::uint64_t caller, const void* block, std::uint64_t bytes) {
  if (block == nullptr || fbleprof_allocated == nullptr) return;
  ++told;
  fbleprof_allocated(caller, block, bytes);
}

inline void tell_of_end(const void* block) {
  if (fbleprof_freeing != nullptr) fbleprof_freeing(block);
}

}  // namespace fbleprof::preload
