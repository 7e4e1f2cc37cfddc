// The values of all metrics at a moment.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/counts.h"
#include "profile/snapshots.h"

namespace fbleprof::profile {

// Each node's value at a snapshot, by NodeId, of each of the profile's first `metrics` metrics. All
// at once: a derived one may be made of derived ones. A metric that was made after reading is in no
// snapshot.
std::vector<Counts> columns_at(const Snapshots& snapshots, const Snapshot& at, std::size_t metrics);

}  // namespace fbleprof::profile
