// The figures of tables for parts of the program: modules, files, namespaces, classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// A part is a set of functions, numbered by the caller.
struct RollupRow {
  std::uint32_t part = 0;
  std::uint64_t self = 0;
  // The sum of all paths that hold a function of the part. A path counts once, however many it
  // holds.
  std::uint64_t dominated = 0;
  bool dominated_is_bound = false;  // a lower bound: part is hidden behind a back edge
  std::uint64_t calls = 0;          // entries of its functions, tail calls included
  std::uint64_t entries = 0;        // of those, from outside the part
  std::uint32_t functions = 0;      // that are in the tree
};

// A row for each part in the tree, in no order. `part_of`, by FunctionId, may be kNoPart: such
// functions belong to no part, and their cost is included in the dominated cost of others. What is
// no function itself (a wait that someone ended) may be kPartOfCaller: of the part above it.
inline constexpr std::uint32_t kNoPart = 0xffffffffu, kPartOfCaller = 0xfffffffeu;
std::vector<RollupRow> rollup(const Costs& costs, const std::vector<std::uint32_t>& part_of);

}  // namespace fbleprof::analysis
