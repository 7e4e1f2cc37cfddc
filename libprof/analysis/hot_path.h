// Where to look first: the path from the root down to where the cost forks.
#pragma once

#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// The nodes below the root, each the most expensive child of the one before, for as long as that
// child holds at least half of its parent's cost.
std::vector<profile::NodeId> hot_path(const Costs& costs);

}  // namespace fbleprof::analysis
