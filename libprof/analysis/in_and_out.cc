#include "analysis/in_and_out.h"

#include <algorithm>

#include "analysis/costs.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<std::vector<NodeId>> outermost_contexts(const Costs& costs,
                                                    const std::vector<std::uint8_t>& wanted) {
  const Nodes& nodes = costs.profile().nodes();
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  std::vector<std::vector<NodeId>> contexts(wanted.size());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::size_t f = nodes.function[n].index();
    if (wanted[f] == 0 || !nodes.parent[n]) continue;
    std::vector<NodeId>& found = contexts[f];
    if (found.empty() || n >= nodes.subtree_end[found.back().index()]) found.push_back(NodeId(n));
  }
  for (std::vector<NodeId>& found : contexts) {
    std::stable_sort(found.begin(), found.end(),
                     [&](NodeId a, NodeId b) { return cost[a.index()] > cost[b.index()]; });
  }
  return contexts;
}

InAndOut in_and_out(const Costs& costs, FunctionId function) {
  const std::size_t count = costs.profile().functions().count();
  std::vector<std::uint8_t> wanted(count);
  if (function) wanted[function.index()] = 1;
  const std::vector<FunctionRow> functions = function_table(costs);
  const std::vector<PairRow> pairs = pair_table(costs, wanted);
  return AllInAndOut(functions, pairs, count).of(function);
}

AllInAndOut::AllInAndOut(const std::vector<FunctionRow>& functions,
                         const std::vector<PairRow>& pairs, std::size_t function_count)
    : functions_(functions),
      pairs_(pairs),
      totals_(function_count, functions.size(),
              [&](std::size_t r) { return functions[r].function.index(); }),
      in_(function_count, pairs.size(), [&](std::size_t r) { return pairs[r].callee.index(); }),
      out_(function_count, pairs.size(), [&](std::size_t r) { return pairs[r].caller.index(); }) {}

std::vector<PairRow> AllInAndOut::rows_of(const Buckets& buckets, FunctionId function) const {
  std::vector<PairRow> rows;
  for (const std::uint32_t row : buckets[function.index()]) rows.push_back(pairs_[row]);
  std::stable_sort(rows.begin(), rows.end(), [](const PairRow& a, const PairRow& b) {
    if (a.is_tail != b.is_tail) return b.is_tail;
    if (a.cost != b.cost) return a.cost > b.cost;
    return a.calls > b.calls;
  });
  return rows;
}

InAndOut AllInAndOut::of(FunctionId function) const {
  InAndOut result;
  result.totals.function = function;
  if (!function) return result;
  for (const std::uint32_t row : totals_[function.index()]) result.totals = functions_[row];
  result.in = rows_of(in_, function);
  result.out = rows_of(out_, function);
  return result;
}

}  // namespace fbleprof::analysis
