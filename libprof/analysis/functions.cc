#include "analysis/functions.h"

#include "analysis/costs.h"
#include "analysis/sampled.h"

namespace fbleprof::analysis {

using namespace profile;

std::vector<FunctionRow> function_table(const Costs& costs) {
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  const std::vector<std::uint8_t>& is_bound = costs.is_bound();
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const std::vector<std::uint8_t> sampled = sampled_contexts(profile);

  constexpr std::uint32_t kNoRow = 0xffffffffu;
  std::vector<std::uint32_t> row_of(profile.functions().count(), kNoRow);
  std::vector<std::uint32_t> until(profile.functions().count(), 0);
  std::vector<FunctionRow> rows;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    // The root is a row if it has self time: time in no known function.
    if (!nodes.parent[n] && costs.own(NodeId(n)) == 0) continue;
    const FunctionId function = nodes.function[n];
    std::uint32_t& index = row_of[function.index()];
    if (index == kNoRow) {
      index = static_cast<std::uint32_t>(rows.size());
      rows.push_back({function});
    }
    FunctionRow& row = rows[index];
    costs.add(row.self, costs.own(NodeId(n)));
    row.calls += costs.calls(NodeId(n));
    row.is_sampled |= sampled[n] != 0;
    // Preorder: the cost inside the subtree of an outer node of this function is already counted.
    if (n >= until[function.index()]) {
      until[function.index()] = nodes.subtree_end[n];
      costs.add(row.dominated, cost[n]);
      row.dominated_is_bound |= is_bound[n] != 0;
    }
  }
  for (FunctionRow& row : rows) row.is_sampled &= row.calls == 0;
  return rows;
}

}  // namespace fbleprof::analysis
