#include "analysis/rollup.h"

#include <algorithm>

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<RollupRow> rollup(const Costs& costs, const std::vector<std::uint32_t>& part_of) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  const std::vector<std::uint8_t>& is_bound = costs.is_bound();
  std::vector<std::uint32_t> part_of_node(nodes.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    std::uint32_t& part = part_of_node[n] = part_of[nodes.function[n].index()];
    if (part != kPartOfCaller) continue;
    part = nodes.parent[n] ? part_of_node[nodes.parent[n].index()] : kNoPart;
  }
  const auto part_at = [&](NodeId node) { return part_of_node[node.index()]; };

  std::uint32_t parts = 0;
  for (const std::uint32_t part : part_of) {
    if (part != kNoPart && part != kPartOfCaller) parts = std::max(parts, part + 1);
  }
  std::vector<RollupRow> rows(parts);
  std::vector<std::uint32_t> until(parts, 0);
  std::vector<std::uint8_t> counted(profile.functions().count(), 0);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::uint32_t part = part_at(NodeId(n));
    if (!nodes.parent[n] || part == kNoPart) continue;
    RollupRow& row = rows[part];
    row.part = part;
    costs.add(row.self, costs.own(NodeId(n)));
    std::uint8_t& is_counted = counted[nodes.function[n].index()];
    const bool is_function = part_of[nodes.function[n].index()] != kPartOfCaller;
    if (is_function && is_counted == 0) ++row.functions;
    is_counted = 1;
    // Preorder: the cost inside the subtree of an outer node of this part is already counted.
    if (n < until[part]) continue;
    until[part] = nodes.subtree_end[n];
    costs.add(row.dominated, cost[n]);
    row.dominated_is_bound |= is_bound[n] != 0;
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const std::uint32_t to = part_at(edges.to[e]);
    if (to == kNoPart) continue;
    rows[to].calls += edges.calls[e];
    if (part_at(edges.from[e]) != to) rows[to].entries += edges.calls[e];
  }
  std::erase_if(rows, [](const RollupRow& row) { return row.functions == 0; });
  return rows;
}

}  // namespace fbleprof::analysis
