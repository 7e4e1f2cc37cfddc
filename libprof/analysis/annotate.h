// Where inside a function its cost arises: by address, and by source line.
//
// Recorded with FBLEPROF_LEAVES=1, a sample is charged to a kInstruction leaf below the function
// that was running. The leaf's address lies in the function's own code, or in code without hooks
// that it called (memcpy). The latter is self cost of the function too, but belongs to none of its
// lines.
//
// A line's inclusive cost is the cost of its samples and of the calls it makes. A path counts once
// for a line, however often it passes through it: charges are in preorder, and a charge inside the
// subtree of an earlier one is counted with that one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/buckets.h"
#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// [begin, end) of a module, in the file's virtual addresses.
struct CodeRange {
  profile::ModuleId module;
  std::uint64_t begin = 0, end = 0;

  friend auto operator<=>(const CodeRange&, const CodeRange&) = default;
};

// What one place in the code costs in one context: a sample there, or a call from there.
struct Charge {
  profile::ModuleId module;
  std::uint64_t address;    // of a call: the byte before the return address
  std::uint64_t own;        // sampled there; 0 of a call
  std::uint64_t total;      // of a call: what the callee cost with all that it called
  std::uint32_t node, end;  // the contexts that `total` covers
};

// All charges of the profile, in preorder. `profile` must have been merged with its leaves kept. If
// call sites were not kept apart, all of a caller's calls of one function are at the first site.
std::vector<Charge> charges(const Costs& costs);

struct InstructionCost {
  std::uint64_t address;
  std::uint64_t cost;       // sampled there
  std::uint64_t total = 0;  // with what was called from there
};

struct Annotation {
  std::vector<Charge> charges;                // those in the range, in preorder
  std::vector<InstructionCost> instructions;  // by address, each once
  std::uint64_t total = 0;                    // with all that was called
  std::uint64_t in_code = 0;                  // sampled in the range
  std::uint64_t of_callers = 0;       // of in_code: charged to callers, as the code has no hook
  std::uint64_t without_address = 0;  // self cost of the function outside all leaves
  // Self cost in code without hooks below the function, the most expensive first: one leaf per name
  // and module, or per address for code without a name.
  struct Outside {
    profile::FunctionId leaf;
    std::uint64_t cost;
    std::uint64_t begin = 0;  // of a function without a name: its first byte, if known
  };
  std::vector<Outside> outside;
  // Of total: of no charge in the range. Self cost outside of it, and what code without hooks
  // called: its return address is not the function's.
  std::uint64_t elsewhere = 0;

  // Self cost outside of the range.
  std::uint64_t outside_or_unknown() const {
    std::uint64_t sum = without_address;
    for (const Outside& other : outside) sum += other.cost;
    return sum;
  }
  // The tables' name for the function's self cost.
  std::uint64_t self() const { return in_code - of_callers + outside_or_unknown(); }
};

// Annotates ranges of a profile's code. The profile is walked once, not once for each range.
class Annotator {
 public:
  // `all`: charges() of `costs`; both must outlive it. `ranges`: those to annotate, in order.
  Annotator(const Costs& costs, const std::vector<Charge>& all,
            const std::vector<CodeRange>& ranges);

  // `functions`, in order: those with the code `range`, which is one of `ranges`.
  Annotation annotate(const CodeRange& range,
                      const std::vector<profile::FunctionId>& functions) const;

 private:
  std::vector<std::uint32_t> charges_in(const CodeRange& range) const;

  const Costs& costs_;
  const std::vector<Charge>& all_;
  std::vector<std::uint32_t> by_place_;  // of `all`, those in a range, by module and address
  Buckets contexts_;                     // by function
  Buckets samples_below_;                // of `all`, by the function that they are charged to
};

// Charges by address.
std::vector<InstructionCost> by_address(const std::vector<Charge>& charges);

// A place in the source, in the function that it was written in.
struct Place {
  std::string function, file;  // file "" = unknown
  std::uint32_t line = 0;      // 0 = unknown

  friend auto operator<=>(const Place&, const Place&) = default;
};

// The places of one address: in the function, then in the functions inlined there, innermost last.
using PlaceChain = std::vector<Place>;

struct LineRow {
  Place place;
  std::uint32_t depth = 0;  // 0: in the function itself; else inlined at the row above of depth - 1
  std::uint64_t cost = 0;   // sampled there, with what was inlined there
  std::uint64_t own = 0;    // without
  std::uint64_t total = 0;  // with what was called from there, too
};

// The cost of lines, in preorder: the function's lines by file and line, inlined ones below the
// line that holds their call, most expensive first. `chains` has one for each of `charges`.
std::vector<LineRow> line_rows(const std::vector<Charge>& charges,
                               const std::vector<PlaceChain>& chains);

}  // namespace fbleprof::analysis
