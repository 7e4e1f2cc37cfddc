// Reading .eh_frame_hdr and .eh_frame: where functions begin and end, and how to leave them.
// Everything here reads only the tables of an object that is loaded.
#pragma once

#include <cstdint>

#include "signal_safe/stack_walk.h"

namespace fbleprof::signal_safe {

// The loaded object that an address lies in.
struct LoadedObject {
  // Of the whole object; only of the segment where there are holes between a program's.
  std::uint64_t begin = 0, end = 0;
  const std::uint8_t* eh_frame_header = nullptr;  // null: it has none
  std::uint64_t load_bias = 0;
  const char* path = nullptr;  // the loader's; "" for the main program
};

// Lock-free (_dl_find_object, glibc 2.35); keeps all vector registers. False: no object's.
bool find_object(std::uint64_t address, LoadedObject* object);

struct CodeRange {
  std::uint64_t start = 0;
  std::uint32_t size = 0;  // 0 = unknown
  bool exact = false;  // an unwind entry says so; otherwise it is a gap between such, or a guess
};

// Bounds of the function around an address by the unwind table of its object; size 0 and the page's
// start for code that no object owns (JIT). For code without unwind entry: the gap between its
// neighbours, so that there are only as many answers as there are functions.
CodeRange code_range_at(std::uint64_t address);

// The rule of the frame of the instruction at `address`. kUnknown where there is none.
FrameRule frame_rule_at(std::uint64_t address);

}  // namespace fbleprof::signal_safe
