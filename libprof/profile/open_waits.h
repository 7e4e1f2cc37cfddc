// Waits that still go on: the recorder charges a wait when it ends; until then the thread's record
// tells where the thread waits and since when.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::profile {

// Charges `ns` to `node`, as the recorder would have. `columns`: the values of `metrics`, before
// metrics with formulas are computed.
void add_open_wait(const std::vector<Metric>& metrics, NodeId node, format::WaitKind kind,
                   std::uint64_t ns, std::size_t node_count, std::vector<Counts>& columns);

// Nanoseconds of this machine's monotonic clock.
std::uint64_t monotonic_now_ns();

}  // namespace fbleprof::profile
