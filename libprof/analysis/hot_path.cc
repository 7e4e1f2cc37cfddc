#include "analysis/hot_path.h"

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<NodeId> hot_path(const Profile& profile, const Metric& metric) {
  std::vector<NodeId> path;
  if (profile.nodes().count() == 0) return path;
  const Nodes& nodes = profile.nodes();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  for (std::uint32_t at = 0;;) {
    std::uint32_t dearest = 0;
    for (std::uint32_t c = at + 1; c < nodes.subtree_end[at]; c = nodes.subtree_end[c]) {
      if (dearest == 0 || cost[c] > cost[dearest]) dearest = c;
    }
    if (dearest == 0 || cost[dearest] == 0 || cost[dearest] < cost[at] - cost[dearest]) break;
    path.push_back(NodeId(dearest));
    at = dearest;
  }
  return path;
}

}  // namespace fbleprof::analysis
