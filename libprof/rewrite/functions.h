// The functions of a file, from its unwind table: stripped files have it too.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"
#include "rewrite/elf_image.h"

namespace fbleprof::rewrite {

struct Function {
  Address begin = 0, end = 0;
  Address unwind_record = 0;  // in the table
  // According to the table, the frame at the function's start is as a call leaves it: CFA = rsp +
  // 8, nothing saved.
  bool starts_like_a_call = false;

  // Facts from the file; see references.h.
  bool decodes = true;
  bool jumps_indirectly = false;
  bool jumps_oddly = false;       // by a return to an address that it wrote, or by a thunk
  bool mentions_start = false;    // an instruction holds the address of the function's start
  bool is_leaf = true;            // never leaves its code but by returning
  bool relies_on_caller = false;  // on flags, or on memory below the stack pointer
  bool uses_red_zone = false;     // memory below the stack pointer
  bool may_keep_flags = false;  // may return, or jump elsewhere, with a flag as it was at its start
  bool leaves_flags = false;    // a caller may read the flags that it leaves
  bool leaves_memory = false;   // a caller may keep memory below the stack pointer while it runs
  // Jumps from code that uses the red zone may come to its start: if it is a part of that code, a
  // hook there destroys what the code keeps.
  bool may_find_red_zone = false;
  bool is_named = false;           // by a symbol of a function
  bool is_named_part = false;      // by a symbol of a part of a function
  bool is_called = false;          // by name
  bool is_pointed_at = false;      // something holds its address, or the distance to it
  bool is_only_in_tables = false;  // all of that is tables of jumps
  bool is_resolver = false;        // of an IFUNC
  bool jumps_into_others = false;  // to places other than their starts
  bool falls_through = false;      // its end does not stop control; a call there may not return
  bool is_fallen_into = false;     // control comes to its start from the code before it
  int jumps_from_others = 0, branches_from_others = 0;  // to its start
  int jumps_to_itself = 0;                              // to its start
  bool has_table_with_start = false;  // a table leads to its start, and to other places in it

  // The decision; see entries.h.
  plan::Reason reason = plan::Reason::kNone;
  enum class Way : std::uint8_t { kNone, kEntry, kCalls } way = Way::kNone;

  bool contains(Address address) const { return address >= begin && address < end; }
  // Whether it may be a part of another function, to which that one jumps.
  bool may_be_part() const {
    return !is_called && !is_named && (!is_pointed_at || is_only_in_tables);
  }
};

// In order of address, without overlaps.
std::vector<Function> read_functions(const ElfImage& image);

// Where the frame is: CFA = register (its DWARF number) + offset.
struct FramePlace {
  std::uint64_t base, offset;

  // rsp + 8: nothing was pushed.
  bool is_of_a_call() const { return base == 7 && offset == 8; }

  bool operator==(const FramePlace& other) const {
    return base == other.base && offset == other.offset;
  }
};

// Where the frame is at instructions of the function, in order of address; the same for one. None:
// the table does not say it so simply.
using FrameAt = std::optional<FramePlace>;
std::vector<FrameAt> frames_at(const ElfImage& image, const Function& function,
                               const std::vector<Address>& addresses);
FrameAt frame_at(const ElfImage& image, const Function& function, Address address);

// The function that contains the address, or null.
Function* function_at(std::vector<Function>& functions, Address address);

}  // namespace fbleprof::rewrite
