// Copies of the hot paths of hooks near the code that calls them (fbleprof_near_hook,
// fbleprof_near_tail_hook and fbleprof_near_leaf_hook in hooks.S, one after the other).
//
// A copy saves a jump to the hook on each call. It is made at run time, so it can hold the offset
// of the thread's variables as a constant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/hot_layout.h"

extern "C" {
extern const char fbleprof_near_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_near_tail_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_near_leaf_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_near_hook_end[] __attribute__((visibility("hidden")));
// Where the copy needs the offset of fbleprof_hot in thread-local storage.
extern const std::uint32_t fbleprof_offsets[] __attribute__((visibility("hidden")));
extern const std::uint32_t fbleprof_offsets_end[] __attribute__((visibility("hidden")));
}

namespace fbleprof::arch {

inline std::uint64_t near_hook_bytes() {
  return static_cast<std::uint64_t>(fbleprof_near_hook_end - fbleprof_near_hook);
}

// Where the hook for tail calls is in a copy.
inline std::uint64_t near_tail_hook_offset() {
  return static_cast<std::uint64_t>(fbleprof_near_tail_hook - fbleprof_near_hook);
}

// Where the hook of functions that call nothing is in a copy.
inline std::uint64_t near_leaf_hook_offset() {
  return static_cast<std::uint64_t>(fbleprof_near_leaf_hook - fbleprof_near_hook);
}

// Where a copy continues in the original hooks: at their starts, or where they miss the cache. Null
// if nothing calls the hook for tail calls.
struct HookEntries {
  const char *start, *missed;
  const char *tail_start = nullptr, *tail_missed = nullptr;
};
static_assert(sizeof(HookEntries) <= NEAR_HOOK_ADDRESS &&
              offsetof(HookEntries, missed) == NEAR_HOOK_ADDRESS - NEAR_HOOK_MISSED &&
              offsetof(HookEntries, tail_start) == NEAR_HOOK_ADDRESS - NEAR_HOOK_TAIL_ADDRESS &&
              offsetof(HookEntries, tail_missed) == NEAR_HOOK_ADDRESS - NEAR_HOOK_TAIL_MISSED);

// Writes a copy to `at`, and the addresses in the original hooks before it. `hot` is this thread's
// fbleprof_hot.
inline void copy_near_hook(char* at, const HookEntries& hook, const void* hot) {
  __builtin_memcpy(at - NEAR_HOOK_ADDRESS, &hook, sizeof hook);
  __builtin_memcpy(at, fbleprof_near_hook, near_hook_bytes());
  const auto distance =
      static_cast<const char*>(hot) - static_cast<const char*>(__builtin_thread_pointer());
  for (const std::uint32_t* place = fbleprof_offsets; place != fbleprof_offsets_end; ++place) {
    std::int32_t offset;
    __builtin_memcpy(&offset, at + *place, sizeof offset);
    offset += static_cast<std::int32_t>(distance);
    __builtin_memcpy(at + *place, &offset, sizeof offset);
  }
}

// The distance from the original to the copy that holds `pc`; 0: `copy` does not hold it.
inline std::uint64_t shift_of_near_hook(std::uint64_t pc, const char* copy) {
  const auto begin = reinterpret_cast<std::uint64_t>(copy);
  if (pc - begin >= near_hook_bytes()) return 0;
  return begin - reinterpret_cast<std::uint64_t>(fbleprof_near_hook);
}

}  // namespace fbleprof::arch
