// Copies of the hot path of a hook near the code that calls it (fbleprof_near_hook in hooks.S).
//
// A copy saves a jump to the hook on each call. It is made at run time, so it can hold the offset
// of the thread's variables as a constant.
#pragma once

#include <cstdint>

#include "arch/hot_layout.h"

extern "C" {
extern const char fbleprof_near_hook[] __attribute__((visibility("hidden")));
extern const char fbleprof_near_hook_end[] __attribute__((visibility("hidden")));
// Where the copy needs the offset of fbleprof_hot in thread-local storage.
extern const std::uint32_t fbleprof_offsets[] __attribute__((visibility("hidden")));
extern const std::uint32_t fbleprof_offsets_end[] __attribute__((visibility("hidden")));
}

namespace fbleprof::arch {

inline std::uint64_t near_hook_bytes() {
  return static_cast<std::uint64_t>(fbleprof_near_hook_end - fbleprof_near_hook);
}

// Where a copy continues in the original hook: at its start, or where it misses the cache.
struct HookEntries {
  const char *start, *missed;
};
static_assert(sizeof(HookEntries) <= NEAR_HOOK_ADDRESS &&
              NEAR_HOOK_MISSED == NEAR_HOOK_ADDRESS - 8);

// Writes a copy to `at`, and the addresses in the original hook before it. `hot` is this thread's
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
