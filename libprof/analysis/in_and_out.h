// One function from both sides: its callers and its callees.
//
//   In(Y -> X)   the cost of all paths that hold that pair: the saving if Y stops calling X
//   Out(X -> Y)  the same for X's callees; [self] is the cost of X itself
//
// X -> X is a row on both sides. Rows of one side can add up to more than X's dominated cost when a
// path enters X twice, from two callers: each pair holds that path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/buckets.h"
#include "analysis/costs.h"
#include "analysis/functions.h"
#include "analysis/pair_table.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct InAndOut {
  FunctionRow totals;
  std::vector<PairRow> in, out;  // most expensive first; tail calls, which have no cost, last
};

// By function that `wanted` marks (1, by function): its contexts, the most expensive first; only
// the outermost of nested ones. Each is a path of its own.
std::vector<std::vector<profile::NodeId>> outermost_contexts(
    const Costs& costs, const std::vector<std::uint8_t>& wanted);

// All about `function`. All is zero if the function is not in the tree.
InAndOut in_and_out(const Costs& costs, profile::FunctionId function);
// The same for callers that ask about many functions: each row of the tables is looked at once for
// each function in it, not once for each function asked about. The tables must outlive it.
class AllInAndOut {
 public:
  // `function_count`: of the profile's functions.
  AllInAndOut(const std::vector<FunctionRow>& functions, const std::vector<PairRow>& pairs,
              std::size_t function_count);

  InAndOut of(profile::FunctionId function) const;

 private:
  std::vector<PairRow> rows_of(const Buckets& buckets, profile::FunctionId function) const;

  const std::vector<FunctionRow>& functions_;
  const std::vector<PairRow>& pairs_;
  Buckets totals_, in_, out_;  // by function
};

}  // namespace fbleprof::analysis
