// Reads .eh_frame_hdr and .eh_frame: the bounds of functions, and how to leave them. Reads only the
// tables of loaded objects, which it trusts as the program itself does. symbolize/unwind_ranges.cc
// reads the tables of files, and says why the two share no code.
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

// The same for an address in `object`, which the loader may not list yet. Size 0: its table has an
// unknown format, or it has none.
CodeRange code_range_in(const LoadedObject& object, std::uint64_t address);

// The number of functions and parts of functions in the object's unwind table, and the start of the
// one with this number. They are in order of address.
std::uint32_t entry_count(const LoadedObject& object);
std::uint64_t entry_start(const LoadedObject& object, std::uint32_t number);

// The rule for the frame of the instruction at `address`; kUnknown if there is none.
FrameRule frame_rule_at(std::uint64_t address);
// The same for an address in `object`, which the loader need not know.
FrameRule frame_rule_in(const LoadedObject& object, std::uint64_t address);

}  // namespace fbleprof::signal_safe
