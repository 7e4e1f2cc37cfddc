#include "report/push/prune.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/costs.h"
#include "transform/rebuild.h"

namespace fbleprof::push {

profile::Profile prune(const profile::Profile& profile, const profile::Metric& metric,
                       std::size_t most) {
  const profile::Nodes& nodes = profile.nodes();
  if (nodes.count() <= most) return profile;
  // A caller costs at least as much as its callees and comes before them: the most expensive `most`
  // nodes include all of their callers.
  const std::vector<std::uint64_t> cost = analysis::inclusive(profile, metric);
  std::vector<std::uint32_t> order(nodes.count());
  std::iota(order.begin(), order.end(), 0u);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return cost[a] != cost[b] ? cost[a] > cost[b] : a < b;
                   });
  transform::Rebuilding how;
  how.root = nodes.function[0];
  how.folded_node.assign(nodes.count(), 1);
  for (std::size_t i = 0; i < most; ++i) how.folded_node[order[i]] = 0;
  how.folded_node[0] = 0;
  return transform::rebuild(profile, how);
}

}  // namespace fbleprof::push
