// Caller -> callee, over all contexts: the call graph, with exact counts.
//
// Every call X -> Y is counted on an edge from a node of X to a node of Y, so the number of calls
// is a plain sum. The cost of a pair is the cost of all paths that hold it: with the pair rule a
// path holds it at most once, so this is a sum of subtrees; where other folding repeats it, only
// the outermost counts.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

struct PairRow {
  profile::FunctionId caller, callee;
  // X tail-calls Y: Y replaced X and its cost is its caller's; the pair has only calls.
  bool is_tail = false;
  // Reached by a jump from the function that was called at the site: the caller in machine code,
  // not in the source.
  bool by_tail_call = false;
  std::uint64_t calls = 0;
  std::uint64_t cost = 0;
  bool cost_is_bound = false;  // at least
  bool is_sampled = false;     // only samples saw it: the number of calls is unknown
  // Of callers of a sequence (sequences.h): some of the calls may be of other callers.
  bool calls_are_about = false;
};

// A row for each pair in the tree, tail calls in rows of their own, in no order. Calls without
// another known caller have the root as their caller. `wanted`, by function: only pairs with a
// function that it marks; empty: all.
std::vector<PairRow> pair_table(const Costs& costs, const std::vector<std::uint8_t>& wanted = {});
// For callers that have the profile's pairs already.
std::vector<PairRow> pair_table(const Costs& costs, const PairIndex& pairs);

}  // namespace fbleprof::analysis
