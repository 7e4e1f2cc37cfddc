// Reads .eh_frame_hdr and .eh_frame: where functions begin and end, and how to leave them. Reads
// only the tables of loaded objects, which it trusts as the program itself does.
// symbolize/unwind_ranges.cc reads those of files, and says why the two share no code.
#pragma once

#include <cstdint>

#include "signal_safe/loaded_objects.h"
#include "signal_safe/stack_walk.h"

namespace fbleprof::signal_safe {

struct CodeRange {
  std::uint64_t start = 0;
  std::uint32_t size = 0;  // 0 = unknown
  bool exact = false;      // from an unwind entry; otherwise a gap between entries, or a guess
};

// Bounds of the function around an address, from the unwind table of its object. For code without
// an unwind entry: the gap between its neighbours, so there are no more answers than functions. For
// code that no object owns (JIT): size 0 and the page's start.
CodeRange code_range_at(std::uint64_t address);

// The rule for the frame of the instruction at `address`; kUnknown if there is none.
FrameRule frame_rule_at(std::uint64_t address);

}  // namespace fbleprof::signal_safe
