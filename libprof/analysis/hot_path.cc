#include "analysis/hot_path.h"

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<NodeId> hot_path(const Costs& costs) {
  std::vector<NodeId> path;
  const Nodes& nodes = costs.profile().nodes();
  if (nodes.count() == 0) return path;
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  for (std::uint32_t at = 0;;) {
    std::uint32_t costliest = 0;
    for (std::uint32_t c = at + 1; c < nodes.subtree_end[at]; c = nodes.subtree_end[c]) {
      if (costliest == 0 || cost[c] > cost[costliest]) costliest = c;
    }
    if (costliest == 0 || cost[costliest] == 0 || cost[costliest] < cost[at] - cost[costliest])
      break;
    path.push_back(NodeId(costliest));
    at = costliest;
  }
  return path;
}

}  // namespace fbleprof::analysis
