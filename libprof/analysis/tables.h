// Sums of a profile that several views show: by function, by pair of caller and callee, by clique.
// Each is computed on first use.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "analysis/cliques.h"
#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pair_index.h"
#include "analysis/pair_table.h"

namespace fbleprof::analysis {

// Tables of one Costs, which must outlive them. Thread-safe.
class Tables {
 public:
  Tables(const Costs& costs, FindPairs find_pairs)
      : costs_(costs), find_pairs_(std::move(find_pairs)) {}

  const std::vector<FunctionRow>& functions() const;
  const PairIndex& pair_index() const;
  const std::vector<PairRow>& pairs() const;
  const Cliques& cliques() const;

 private:
  const Costs& costs_;
  const FindPairs find_pairs_;
  mutable std::once_flag functions_made_, index_made_, pairs_made_, cliques_made_;
  mutable std::vector<FunctionRow> functions_;
  mutable std::shared_ptr<const PairIndex> index_;
  mutable std::vector<PairRow> pairs_;
  mutable Cliques cliques_;
};

}  // namespace fbleprof::analysis
