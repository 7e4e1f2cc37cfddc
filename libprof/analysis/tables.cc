#include "analysis/tables.h"

#include "base/at_once.h"

namespace fbleprof::analysis {

const std::vector<FunctionRow>& Tables::functions() const {
  std::call_once(functions_made_, [&] { functions_ = function_table(costs_); });
  return functions_;
}

const PairIndex& Tables::pair_index() const {
  std::call_once(index_made_, [&] {
    index_ = find_pairs_ ? find_pairs_() : std::make_shared<const PairIndex>(costs_.profile());
  });
  return *index_;
}

const std::vector<PairRow>& Tables::pairs() const {
  std::call_once(pairs_made_, [&] {
    // Both are made on first use: here, at the same time.
    at_once(costs_.inclusive().size(), {[&] { pair_index(); }, [&] { costs_.is_bound(); }});
    pairs_ = pair_table(costs_, pair_index());
  });
  return pairs_;
}

const Cliques& Tables::cliques() const {
  std::call_once(cliques_made_, [&] { cliques_ = find_cliques(costs_, pair_index()); });
  return cliques_;
}

}  // namespace fbleprof::analysis
