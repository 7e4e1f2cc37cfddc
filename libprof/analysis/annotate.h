// Where inside a function its cost arises: by sampled address, and by source line.
//
// Recorded with FBLEPROF_LEAVES=1, a sample is charged to a kInstruction leaf below the function
// that was running. The leaf's address lies in the function's own code, or in code without hooks
// that it called (memcpy): that is the function's self cost too, but of no line of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

// [begin, end) of a module, in the file's virtual addresses.
struct CodeRange {
  profile::ModuleId module;
  std::uint64_t begin = 0, end = 0;

  friend auto operator<=>(const CodeRange&, const CodeRange&) = default;
};

struct InstructionCost {
  std::uint64_t address;
  std::uint64_t cost;
};

struct Annotation {
  std::vector<InstructionCost> instructions;  // by address, each once
  std::uint64_t in_code = 0;                  // their sum
  std::uint64_t of_callers = 0;       // of in_code: charged to functions that called it unhooked
  std::uint64_t without_address = 0;  // self cost of the function that no leaf holds
  // Self cost in code without hooks below the function: a leaf of each name and module, costliest
  // first.
  struct Outside {
    profile::FunctionId leaf;
    std::uint64_t cost;
  };
  std::vector<Outside> outside;

  // What tables call the function's self cost.
  std::uint64_t self() const {
    std::uint64_t sum = in_code - of_callers + without_address;
    for (const Outside& other : outside) sum += other.cost;
    return sum;
  }
};

// `is_function`, by FunctionId: the functions whose code `range` is. `profile` must have been
// merged with its leaves kept.
Annotation annotate(const profile::Profile& profile, const profile::Metric& metric,
                    const CodeRange& range, const std::vector<std::uint8_t>& is_function);

// A place in the source, in the function that it was written in.
struct Place {
  std::string function, file;  // file "" = unknown
  std::uint32_t line = 0;      // 0 = unknown

  friend auto operator<=>(const Place&, const Place&) = default;
};

// The places of one address: in the function, then in those inlined there, innermost last.
using PlaceChain = std::vector<Place>;

struct LineRow {
  Place place;
  std::uint32_t depth = 0;  // 0: in the function itself; else inlined at the row above of depth - 1
  std::uint64_t cost = 0;   // with what was inlined there
  std::uint64_t own = 0;    // without
};

// The cost of lines, in preorder: those of the function by file and line, inlined ones below the
// line that holds their call, costliest first. `chains` has one for each of `instructions`.
std::vector<LineRow> line_rows(const std::vector<InstructionCost>& instructions,
                               const std::vector<PlaceChain>& chains);

}  // namespace fbleprof::analysis
