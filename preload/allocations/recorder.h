// The wrappers' reports to the recorder. Without the recorder (only this library was preloaded)
// they report to nobody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "signal_safe/allocation_calls.h"

#define FBLEPROF_INTERPOSE extern "C" __attribute__((visibility("default")))
// The place of the caller's frame pointer and return address, in the wrapper that uses the macro.
#define FBLEPROF_CALLER reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))

extern "C" {
extern decltype(fbleprof_allocated) fbleprof_allocated __attribute__((weak));
extern decltype(fbleprof_freeing) fbleprof_freeing __attribute__((weak));
extern decltype(fbleprof_take_block) fbleprof_take_block __attribute__((weak));
extern decltype(fbleprof_taken_was_freed) fbleprof_taken_was_freed __attribute__((weak));
extern decltype(fbleprof_put_block_back) fbleprof_put_block_back __attribute__((weak));
extern decltype(fbleprof_take_mapping) fbleprof_take_mapping __attribute__((weak));
extern decltype(fbleprof_taken_was_unmapped) fbleprof_taken_was_unmapped __attribute__((weak));
extern decltype(fbleprof_mapped) fbleprof_mapped __attribute__((weak));
extern decltype(fbleprof_unmapping) fbleprof_unmapping __attribute__((weak));
}

namespace fbleprof::preload {

// How many allocations this thread has reported. An allocator's function may or may not call
// another wrapped one: its caller checks whether the number has changed.
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
