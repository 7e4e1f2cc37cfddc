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
  std::vector<std::uint8_t> wanted(costs.profile().functions().count());
  if (function) wanted[function.index()] = 1;
  return in_and_out(function_table(costs), pair_table(costs, wanted), function);
}

InAndOut in_and_out(const std::vector<FunctionRow>& functions, const std::vector<PairRow>& pairs,
                    FunctionId function) {
  InAndOut result;
  result.totals.function = function;
  for (const FunctionRow& row : functions) {
    if (row.function == function) result.totals = row;
  }
  for (const PairRow& row : pairs) {
    if (row.callee == function) result.in.push_back(row);
    if (row.caller == function) result.out.push_back(row);
  }
  const auto costliest_first = [](const PairRow& a, const PairRow& b) {
    if (a.is_tail != b.is_tail) return b.is_tail;
    if (a.cost != b.cost) return a.cost > b.cost;
    return a.calls > b.calls;
  };
  std::stable_sort(result.in.begin(), result.in.end(), costliest_first);
  std::stable_sort(result.out.begin(), result.out.end(), costliest_first);
  return result;
}

}  // namespace fbleprof::analysis
