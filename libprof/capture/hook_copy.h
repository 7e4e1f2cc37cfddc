// Copies of the hook's hot path (arch/near_hook.h) in the regions of code near modules.
#pragma once

#include "arch/near_hook.h"
#include "capture/text_memory.h"

namespace fbleprof::capture {

// The number of slots that a copy takes: the first ones of its region. Samples in slots count as
// overhead.
std::uint32_t hook_copy_slots();

// What the module's functions call.
inline char* hook_copy_in(const Region& region) {
  return region.base + kRegionHeadBytes + arch::kTrampolineEntry;
}

// What functions call that are entered by known tail calls.
inline char* tail_hook_copy_in(const Region& region) {
  return hook_copy_in(region) + arch::near_tail_hook_offset();
}

// What functions call that call nothing themselves.
inline char* leaf_hook_copy_in(const Region& region) {
  return hook_copy_in(region) + arch::near_leaf_hook_offset();
}

// Writes a copy of the hot path that continues in `hook` for anything else. The region must be
// writable.
void write_hook_copy(const Region& region, arch::HookEntries hook);

// The distance from the original hot path to the copy that holds `pc`; 0: `pc` is in no copy. Any
// thread, handlers too.
std::uint64_t shift_of_hook(std::uint64_t pc);

// Whether `pc` is one of the first instructions of a copy, which only save registers below the
// stack pointer. Any thread, handlers too.
bool saves_at(std::uint64_t pc);

}  // namespace fbleprof::capture
