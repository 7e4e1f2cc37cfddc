// Calls by the chain of cliques above them: recursion folds, other contexts stay apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/cliques.h"
#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// A call, told apart by the chain of cliques from the root to the caller: "h called i ten times
// when its ancestors were main -> f -> h".
struct CliqueCall {
  std::uint32_t chain;  // index into CliqueContexts::chains
  profile::FunctionId caller, callee;
  bool is_tail = false;
  bool is_inside = false;  // stays in the clique: its cost is that of the entry
  std::uint64_t calls = 0;
  std::uint64_t cost = 0;  // exact: of a call that leaves the clique
};

struct CliqueContexts {
  struct Chain {
    std::uint32_t parent;  // kNoClique: none
    std::uint32_t clique;
  };
  std::vector<Chain> chains;      // parents before children
  std::vector<CliqueCall> calls;  // the most expensive first
  std::size_t count = 0;          // of all calls
};

// The `most` most expensive calls; of equal cost, those made most often. Calls from the root are
// left out: nobody makes them. The profile was merged: a path is one node.
CliqueContexts clique_contexts(const Costs& costs, const Cliques& cliques, const PairIndex& pairs,
                               std::size_t most);

}  // namespace fbleprof::analysis
