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

NodeId start_of_interest(const Costs& costs) {
  constexpr std::size_t kLong = 6, kKept = 2;
  const std::vector<NodeId> path = hot_path(costs);
  std::size_t passed = 0;
  while (passed < path.size() &&
         costs.inclusive()[path[passed].index()] >= costs.total() - costs.total() / 20) {
    ++passed;
  }
  return passed > kLong ? path[passed - kKept] : NodeId(0);
}

}  // namespace fbleprof::analysis
