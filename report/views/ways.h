// Rows that --block and --path share: callers and callees of a function or sequence, and the full
// paths that hold it.
#pragma once

#include <vector>

#include "analysis/pair_table.h"
#include "report/views/view.h"

namespace fbleprof::report {

inline constexpr std::size_t kPathsForPeople = 5;

// The paths to `contexts`, as many as the look allows, in one column of a list.
std::vector<Cell> path_cells(const Request& request, const Names& names,
                             const std::vector<profile::NodeId>& contexts);

}  // namespace fbleprof::report
