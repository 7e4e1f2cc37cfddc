#include "analysis/pair_table.h"

#include <functional>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "analysis/sampled.h"
#include "base/at_once.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<PairRow> pair_table(const Costs& costs, const std::vector<std::uint8_t>& wanted) {
  return pair_table(costs, PairIndex(costs.profile(), wanted));
}

std::vector<PairRow> pair_table(const Costs& costs, const PairIndex& pairs) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  const std::vector<std::uint8_t>& is_bound = costs.is_bound();

  // By pair, small enough to be found fast: what its nodes and its edges add up to.
  struct OfNodes {
    std::uint64_t cost = 0;
    std::uint32_t until = 0;  // where the subtree of its latest outermost node ends
    bool is_there = false, is_bound = false;
  };
  struct OfEdges {
    std::uint64_t calls = 0, tail_calls = 0;
    bool has_calls = false, has_tail_calls = false;
    bool by_tail_call = false, tail_by_tail_call = false, is_sampled = false;
  };
  std::vector<OfNodes> of_nodes(pairs.count());
  std::vector<OfEdges> sums(pairs.count());
  const auto add_nodes = [&] {
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      if (n + kFetchAhead < nodes.count()) {
        const std::uint32_t soon = pairs.of_node(n + kFetchAhead);
        if (soon != PairIndex::kNone) __builtin_prefetch(&of_nodes[soon], 1);
      }
      if (pairs.of_node(n) == PairIndex::kNone) continue;
      OfNodes& held = of_nodes[pairs.of_node(n)];
      held.is_there = true;
      if (n < held.until) continue;
      held.until = nodes.subtree_end[n];
      costs.add(held.cost, cost[n]);
      held.is_bound |= is_bound[n] != 0;
    }
  };
  const auto add_edges = [&] {
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (e + kFetchAhead < edges.count()) {
        const std::uint32_t soon = pairs.of_edges()[e + kFetchAhead];
        if (soon != PairIndex::kNone) __builtin_prefetch(&sums[soon], 1);
      }
      const std::uint32_t pair = pairs.of_edges()[e];
      if (pair == PairIndex::kNone) continue;
      OfEdges& held = sums[pair];
      const bool is_tail = edges.kind[e] == EdgeKind::kTail;
      const bool by_tail_call = (edges.flags[e] & format::kEdgeByTailCall) != 0;
      (is_tail ? held.tail_calls : held.calls) += edges.calls[e];
      (is_tail ? held.has_tail_calls : held.has_calls) = true;
      (is_tail ? held.tail_by_tail_call : held.by_tail_call) |= by_tail_call;
      held.is_sampled |= is_sampled(profile, EdgeId(e));
    }
  };
  at_once(nodes.count(), {add_edges, add_nodes});

  std::vector<PairRow> rows;
  rows.reserve(pairs.count());
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    const OfNodes& paths = of_nodes[p];
    const OfEdges& held = sums[p];
    if (!paths.is_there && !held.has_calls) continue;
    rows.push_back({pairs.caller(p), pairs.callee(p), false, held.by_tail_call, held.calls,
                    paths.cost, paths.is_bound, held.is_sampled && held.calls == 0});
  }
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    const OfEdges& held = sums[p];
    if (!held.has_tail_calls) continue;
    rows.push_back(
        {pairs.caller(p), pairs.callee(p), true, held.tail_by_tail_call, held.tail_calls});
  }
  return rows;
}

}  // namespace fbleprof::analysis
