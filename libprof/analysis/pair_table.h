// Caller -> callee, over all contexts: the call graph, with exact counts.
//
// Every call X -> Y is counted on an edge from a node of X to a node of Y that X entered, so counts
// are plain sums. The cost of a pair is the cost of all paths that hold it: with the pair rule it
// stands at most once on a path, so this is a sum of subtrees; where folding made it stand more
// often, only the outermost counts.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct PairRow {
  profile::FunctionId caller, callee;
  // X tail-calls Y: Y took X's place and its cost is its caller's; the pair has calls alone.
  bool is_tail = false;
  // Reached by a jump of the function that was called at the site: the machine's caller, not the
  // source's.
  bool by_tail_call = false;
  std::uint64_t calls = 0;
  std::uint64_t cost = 0;
  bool cost_is_bound = false;  // at least
  bool is_sampled = false;     // only samples saw it: how often is not known
};

// A row for each pair that stands in the tree, tail calls in rows of their own, in no order. The
// root calls what nothing else does.
// `wanted`, by function: only pairs with a function that it marks; empty: all.
std::vector<PairRow> pair_table(const Costs& costs, const std::vector<std::uint8_t>& wanted = {});
// For those who have the profile's pairs already.
std::vector<PairRow> pair_table(const Costs& costs, const PairIndex& pairs);

}  // namespace fbleprof::analysis
