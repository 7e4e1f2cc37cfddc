// The functions of a file, from its unwind table: stripped files have it too.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "rewrite/elf_image.h"

namespace fbleprof::rewrite {

struct Function {
  Address begin = 0, end = 0;
  // At its start, the frame is as a call leaves it: CFA = rsp + 8, nothing saved. The table says
  // so.
  bool starts_like_a_call = false;

  // What the code tells of it; see references.h.
  bool decodes = true;
  bool jumps_indirectly = false;
  bool relies_on_caller = false;   // on flags, or on memory below the stack pointer
  bool is_called = false;          // by name
  bool is_pointed_at = false;      // something holds its address
  bool is_resolver = false;        // of an IFUNC
  bool jumps_into_others = false;  // not to their starts
  int jumps_from_others = 0, branches_from_others = 0;  // to its start
  int jumps_to_itself = 0;                              // to its start

  // The outcome; see entries.h.
  plan::Reason reason = plan::Reason::kNone;
  enum class Way : std::uint8_t { kNone, kEntry, kCalls } way = Way::kNone;

  bool contains(Address address) const { return address >= begin && address < end; }
};

// In the order of their addresses; none overlaps the next.
std::vector<Function> read_functions(const ElfImage& image);

// The function that contains the address, or null.
Function* function_at(std::vector<Function>& functions, Address address);

}  // namespace fbleprof::rewrite
