// Reads .eh_frame_hdr and .eh_frame: where functions begin and end, and how to leave them. Reads
// only the tables of loaded objects, which it trusts as the program itself does.
// symbolize/unwind_ranges.cc reads those of files, and says why the two share no code.
#pragma once

#include <cstdint>

#include "signal_safe/stack_walk.h"

namespace fbleprof::signal_safe {

// The loaded object that an address lies in.
struct LoadedObject {
  // Of the whole object; of one segment only, if there are holes between a program's segments.
  std::uint64_t begin = 0, end = 0;
  const std::uint8_t* eh_frame_header = nullptr;  // null: it has none
  std::uint64_t load_bias = 0;
  const char* path = nullptr;  // the loader's; "" for the main program
};

// Lock-free (_dl_find_object, glibc 2.35); keeps all vector registers. False: in no object.
bool find_object(std::uint64_t address, LoadedObject* object);

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
