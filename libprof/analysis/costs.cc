#include "analysis/costs.h"

#include <algorithm>

#include "analysis/callbacks.h"
#include "analysis/tables.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<std::uint64_t> inclusive(const Profile& profile, const Metric& metric) {
  const Nodes& nodes = profile.nodes();
  if (!metric.values) return std::vector<std::uint64_t>(nodes.count());
  std::vector<std::uint64_t> cost = metric.values->wide();
  for (std::size_t n = nodes.count(); n-- > 0;) {
    if (!nodes.parent[n]) continue;
    metric.add(cost[nodes.parent[n].index()], cost[n]);
  }
  return cost;
}

std::vector<std::uint8_t> lower_bounds(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  // The depth of the highest node that a back edge from the subtree leads to.
  std::vector<std::uint32_t> highest = nodes.depth;
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.kind[e] != EdgeKind::kBack) continue;
    std::uint32_t& depth = highest[edges.from[e].index()];
    depth = std::min(depth, nodes.depth[edges.to[e].index()]);
  }
  std::vector<std::uint8_t> is_bound(nodes.count());
  for (std::size_t n = nodes.count(); n-- > 0;) {
    is_bound[n] =
        highest[n] < nodes.depth[n] || (!nodes.is_bound.empty() && nodes.is_bound[n] != 0);
    if (!nodes.parent[n]) continue;
    std::uint32_t& above = highest[nodes.parent[n].index()];
    above = std::min(above, highest[n]);
  }
  return is_bound;
}

std::uint64_t total(const Profile& profile, const Metric& metric) {
  std::uint64_t sum = 0;
  for (const Tree& tree : profile.trees()) {
    metric.add(sum, total(profile, metric, tree));
  }
  return sum;
}

std::uint64_t total(const Profile&, const Metric& metric, const Tree& tree) {
  std::uint64_t sum = 0;
  if (!metric.values) return sum;
  for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
    metric.add(sum, (*metric.values)[n]);
  }
  return sum;
}

namespace {

std::uint64_t sum_of_trees(const Profile& profile, const Metric& metric,
                           const std::vector<std::uint64_t>& inclusive) {
  std::uint64_t sum = 0;
  for (const Tree& tree : profile.trees()) {
    if (tree.begin.index() >= tree.end.index()) continue;
    metric.add(sum, inclusive[tree.begin.index()]);
  }
  return sum;
}

}  // namespace

Costs::Costs(const Profile& profile, const Metric& metric, FindPairs find_pairs)
    : profile_(profile),
      metric_(metric),
      calls_(profile.find_metric(Role::kCalls)),
      inclusive_(analysis::inclusive(profile, metric)),
      total_(sum_of_trees(profile, metric, inclusive_)),
      tables_(std::make_unique<const Tables>(*this, std::move(find_pairs))) {}

Costs::~Costs() = default;

const std::vector<std::uint8_t>& Costs::is_bound() const {
  std::call_once(bounds_are_found_, [&] {
    is_bound_ = lower_bounds(profile_);
    mark_callbacks(profile_, is_bound_);
  });
  return is_bound_;
}

EdgesByNode::EdgesByNode(const Profile& profile, Side side) {
  const Edges& edges = profile.edges();
  const std::vector<NodeId>& ends = side == Side::kFrom ? edges.from : edges.to;
  first_.assign(profile.nodes().count() + 1, 0);
  for (const NodeId node : ends) ++first_[node.index() + 1];
  for (std::size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  edges_.resize(edges.count());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t e = 0; e < edges.count(); ++e) edges_[next[ends[e].index()]++] = EdgeId(e);
}

}  // namespace fbleprof::analysis
