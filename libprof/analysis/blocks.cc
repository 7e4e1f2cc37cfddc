#include "analysis/blocks.h"

#include <algorithm>

namespace fbleprof::analysis {

using namespace profile;

Block block(const Profile& profile, const Metric& metric, FunctionId function) {
  return block(function_table(profile, metric), pair_table(profile, metric), function);
}

Block block(const std::vector<FunctionRow>& functions, const std::vector<PairRow>& pairs,
            FunctionId function) {
  Block result;
  result.totals.function = function;
  for (const FunctionRow& row : functions) {
    if (row.function == function) result.totals = row;
  }
  for (const PairRow& row : pairs) {
    if (row.callee == function) result.in.push_back(row);
    if (row.caller == function) result.out.push_back(row);
  }
  const auto dearest_first = [](const PairRow& a, const PairRow& b) {
    if (a.is_tail != b.is_tail) return b.is_tail;
    if (a.cost != b.cost) return a.cost > b.cost;
    return a.calls > b.calls;
  };
  std::stable_sort(result.in.begin(), result.in.end(), dearest_first);
  std::stable_sort(result.out.begin(), result.out.end(), dearest_first);
  return result;
}

}  // namespace fbleprof::analysis
