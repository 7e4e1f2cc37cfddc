// Where to look first: the path from the root down to where the cost forks.
#pragma once

#include <vector>

#include "analysis/costs.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// The nodes below the root, each the most expensive child of the one before, for as long as that
// child holds at least half of its parent's cost.
std::vector<profile::NodeId> hot_path(const Costs& costs);

// Where pictures with little room begin: behind a long beginning of the path that holds nearly all
// of the cost and says little, such as an interpreter's own start. Else the root.
profile::NodeId start_of_interest(const Costs& costs);

}  // namespace fbleprof::analysis
