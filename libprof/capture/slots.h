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

// The call of the hook, which one byte switches (arch/hook_site.h).
inline std::uint8_t* hook_call_of(const Region& region, std::uint64_t index) {
  return slot_of(region, index) + arch::kTrampolineEntry;
}

// Where the function's code leads, instead of to the function.
inline std::uint64_t entry_of(const Region& region, std::uint64_t index) {
  return reinterpret_cast<std::uint64_t>(hook_call_of(region, index));
}

}  // namespace fbleprof::capture
