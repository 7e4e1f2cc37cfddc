#include "profile/open_waits.h"

#include <time.h>

#include <algorithm>

#include "format/waits.h"

namespace fbleprof::profile {

void add_open_wait(const std::vector<Metric>& metrics, NodeId node, format::WaitKind kind,
                   std::uint64_t ns, std::size_t node_count, std::vector<Counts>& columns) {
  std::uint32_t wait_class = 0;
  for (std::size_t m = 0; m < metrics.size() && m < columns.size(); ++m) {
    if (!metrics[m].formula.empty()) continue;
    std::uint64_t added = 0;
    switch (metrics[m].role) {
      case Role::kWaitTime:
      case Role::kWallTime:
      case Role::kLongestWait:
        added = ns;
        break;
      case Role::kEventWait:
        added = kind == format::WaitKind::kForEvents ? ns : 0;
        break;
      case Role::kPeerWait:
        added = kind == format::WaitKind::kForPeers ? ns : 0;
        break;
      case Role::kWaits:
        added = 1;
        break;
      case Role::kWaitClass:
        added = wait_class++ == format::wait_class(ns) ? 1 : 0;
        break;
      default:
        break;
    }
    if (added == 0) continue;
    Counts& column = columns[m];
    if (column.empty()) column.resize(node_count);
    if (metrics[m].aggregation == Aggregation::kMax) {
      column.set(node.index(), std::max(column[node.index()], added));
    } else {
      column.add(node.index(), added);
    }
  }
}

std::uint64_t monotonic_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace fbleprof::profile
