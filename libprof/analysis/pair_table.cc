#include "analysis/pair_table.h"

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "analysis/sampled.h"

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

  // By pair, small enough to be found fast.
  struct Sums {
    std::uint64_t cost = 0, calls = 0, tail_calls = 0;
    std::uint32_t until = 0;  // where the subtree of its latest outermost node ends
    bool has_calls = false, has_tail_calls = false;
    bool is_bound = false, by_tail_call = false, tail_by_tail_call = false, is_sampled = false;
  };
  std::vector<Sums> sums(pairs.count());
  const auto fetch = [&](std::uint32_t pair) {
    if (pair != PairIndex::kNone) __builtin_prefetch(&sums[pair], 1);
  };
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (n + kFetchAhead < nodes.count()) fetch(pairs.of_node(n + kFetchAhead));
    if (pairs.of_node(n) == PairIndex::kNone) continue;
    Sums& held = sums[pairs.of_node(n)];
    held.has_calls = true;
    if (n < held.until) continue;
    held.until = nodes.subtree_end[n];
    held.cost += cost[n];
    held.is_bound |= is_bound[n] != 0;
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (e + kFetchAhead < edges.count()) fetch(pairs.of_edges()[e + kFetchAhead]);
    const std::uint32_t pair = pairs.of_edges()[e];
    if (pair == PairIndex::kNone) continue;
    Sums& held = sums[pair];
    const bool is_tail = edges.kind[e] == EdgeKind::kTail;
    const bool by_tail_call = (edges.flags[e] & format::kEdgeByTailCall) != 0;
    (is_tail ? held.tail_calls : held.calls) += edges.calls[e];
    (is_tail ? held.has_tail_calls : held.has_calls) = true;
    (is_tail ? held.tail_by_tail_call : held.by_tail_call) |= by_tail_call;
    held.is_sampled |= is_sampled(profile, EdgeId(e));
  }

  std::vector<PairRow> rows;
  rows.reserve(pairs.count());
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    const Sums& held = sums[p];
    if (!held.has_calls) continue;
    rows.push_back({pairs.caller(p), pairs.callee(p), false, held.by_tail_call, held.calls,
                    held.cost, held.is_bound, held.is_sampled && held.calls == 0});
  }
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    const Sums& held = sums[p];
    if (!held.has_tail_calls) continue;
    rows.push_back(
        {pairs.caller(p), pairs.callee(p), true, held.tail_by_tail_call, held.tail_calls});
  }
  return rows;
}

}  // namespace fbleprof::analysis
