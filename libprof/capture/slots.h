// The trampolines of a rewritten module in its region: slots behind the copy of the hook, and the
// records of their functions.
#pragma once

#include "arch/trampoline.h"
#include "capture/hook_copy.h"

namespace fbleprof::capture {

inline std::uint8_t* slot_of(const Region& region, std::uint64_t index) {
  return reinterpret_cast<std::uint8_t*>(region.base) + kRegionHeadBytes +
         (hook_copy_slots() + index) * arch::kTrampolineBytes;
}

inline arch::RewrittenFunction* functions_of(const Region& region) {
  return reinterpret_cast<arch::RewrittenFunction*>(end_of_slots(region));
}

// Where the function's code leads, instead of to the function.
inline std::uint64_t entry_of(const Region& region, std::uint64_t index) {
  return reinterpret_cast<std::uint64_t>(slot_of(region, index)) + arch::kTrampolineEntry;
}

}  // namespace fbleprof::capture
