// The flat tables: each function's own cost, and the cost of every path that contains it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct FunctionRow {
  profile::FunctionId function;
  std::uint64_t self = 0;
  // The sum of all paths that hold the function. A path counts once, however often the function is
  // on it.
  std::uint64_t dominated = 0;
  bool dominated_is_bound = false;  // a lower bound: part is hidden behind a back edge
  std::uint64_t calls = 0;          // entries, tail calls included; 0 where only samples saw it
  bool is_sampled = false;          // only samples saw it: the number of entries is unknown
};

// A row for each function in the tree, in no order, without the root.
std::vector<FunctionRow> function_table(const Costs& costs);

}  // namespace fbleprof::analysis
