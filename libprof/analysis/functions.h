// The flat tables: what each function costs itself, and every path that it stands on.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct FunctionRow {
  profile::FunctionId function;
  std::uint64_t self = 0;
  // The sum of all paths that the function stands on. A path counts once, however often.
  std::uint64_t dominated = 0;
  bool dominated_is_bound = false;  // at least: part of it is hidden behind a back edge
  std::uint64_t calls = 0;          // entries, tail calls included; 0 where only samples saw it
  bool is_sampled = false;          // only samples saw it: how often it was entered is not known
};

// A row for each function that stands in the tree, in no order, without the root.
std::vector<FunctionRow> function_table(const Costs& costs);

}  // namespace fbleprof::analysis
