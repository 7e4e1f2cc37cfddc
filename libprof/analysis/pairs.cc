#include "analysis/pairs.h"

#include "analysis/costs.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// Finds the row of a pair; makes it on first use.
class Rows {
 public:
  std::uint32_t index(FunctionId caller, FunctionId callee) {
    const std::uint64_t key = std::uint64_t{caller.index()} << 32 | callee.index();
    const auto [index, added] = map_.insert(key, static_cast<std::uint32_t>(rows.size()));
    if (added) rows.push_back({caller, callee});
    return index;
  }
  std::vector<PairRow> rows;

 private:
  FlatMap map_;
};

}  // namespace

std::vector<PairRow> pair_table(const Profile& profile, const Metric& metric) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  const std::vector<std::uint8_t> is_bound = lower_bounds(profile);

  Rows calls, tails;
  std::vector<std::uint32_t> until;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!nodes.parent[n]) continue;
    const std::uint32_t row =
        calls.index(nodes.function[nodes.parent[n].index()], nodes.function[n]);
    if (row == until.size()) until.push_back(0);
    if (n < until[row]) continue;
    until[row] = nodes.subtree_end[n];
    calls.rows[row].cost += cost[n];
    calls.rows[row].cost_is_bound |= is_bound[n] != 0;
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const bool is_tail = edges.kind[e] == EdgeKind::kTail;
    Rows& table = is_tail ? tails : calls;
    const std::uint32_t row =
        table.index(nodes.function[edges.from[e].index()], nodes.function[edges.to[e].index()]);
    table.rows[row].calls += edges.calls[e];
    table.rows[row].is_tail = is_tail;
    table.rows[row].by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
  }
  calls.rows.insert(calls.rows.end(), tails.rows.begin(), tails.rows.end());
  return std::move(calls.rows);
}

}  // namespace fbleprof::analysis
