#include "analysis/diff.h"

#include <algorithm>
#include <limits>

#include "analysis/costs.h"
#include "analysis/functions.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

using Wide = unsigned __int128;

std::vector<Change> side_by_side(const std::vector<std::uint64_t>& base,
                                 const std::vector<std::uint64_t>& now, const Change& total,
                                 bool normalize) {
  std::vector<Change> changes(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    changes[i].base = normalize ? scaled(base[i], total.now, total.base) : base[i];
    changes[i].now = now[i];
  }
  return changes;
}

std::vector<std::uint64_t> own_values(const Profile& profile, const Metric* metric) {
  if (metric == nullptr || !metric->values) {
    return std::vector<std::uint64_t>(profile.nodes().count());
  }
  return metric->values->wide();
}

}  // namespace

std::uint64_t scaled(std::uint64_t value, std::uint64_t factor, std::uint64_t divisor) {
  if (divisor == 0) return 0;
  const Wide result = (Wide{value} * factor + divisor / 2) / divisor;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return result > kMost ? kMost : static_cast<std::uint64_t>(result);
}

Diff diff(const Profile& profile, const DiffMetrics& metrics) {
  Diff result;
  const Costs base_costs(profile, metrics.base), now_costs(profile, metrics.now);
  result.total = {base_costs.total(), now_costs.total()};
  const auto compare = [&](const auto& base, const auto& now) {
    return side_by_side(base, now, result.total, metrics.normalize);
  };
  result.self = compare(own_values(profile, &metrics.base), own_values(profile, &metrics.now));
  result.inclusive = compare(base_costs.inclusive(), now_costs.inclusive());
  result.calls = side_by_side(own_values(profile, metrics.base_calls),
                              own_values(profile, metrics.calls), {}, false);

  // Both tables are of one tree, so their rows stand in the same order.
  const std::vector<FunctionRow> base = function_table(base_costs);
  const std::vector<FunctionRow> now = function_table(now_costs);
  std::vector<Change> calls(profile.functions().count());
  for (std::size_t n = 0; n < profile.nodes().count(); ++n) {
    Change& of_function = calls[profile.nodes().function[n].index()];
    of_function.base += result.calls[n].base;
    of_function.now += result.calls[n].now;
  }
  const auto base_value = [&](std::uint64_t value) {
    return metrics.normalize ? scaled(value, result.total.now, result.total.base) : value;
  };
  for (std::size_t i = 0; i < now.size(); ++i) {
    FunctionChange change;
    change.function = now[i].function;
    change.self = {base_value(base[i].self), now[i].self};
    change.dominated = {base_value(base[i].dominated), now[i].dominated};
    change.calls = calls[change.function.index()];
    change.is_bound = now[i].dominated_is_bound;
    result.functions.push_back(change);
  }
  return result;
}

std::uint64_t cost_of(const Profile& profile, const Metric& metric,
                      const std::vector<std::uint8_t>& matches, Extent extent) {
  if (matches.empty()) return total(profile, metric);
  const Nodes& nodes = profile.nodes();
  const std::vector<std::uint64_t> cost =
      extent == Extent::kSelf ? own_values(profile, &metric) : inclusive(profile, metric);
  const bool is_max = metric.aggregation == Aggregation::kMax;
  std::uint64_t sum = 0;
  for (std::size_t n = 0; n < nodes.count();) {
    if (matches[nodes.function[n].index()] == 0) {
      ++n;
      continue;
    }
    sum = is_max ? std::max(sum, cost[n]) : sum + cost[n];
    // Preorder: what stands below the outermost match is in its cost.
    n = extent == Extent::kDominated ? nodes.subtree_end[n] : n + 1;
  }
  return sum;
}

}  // namespace fbleprof::analysis
