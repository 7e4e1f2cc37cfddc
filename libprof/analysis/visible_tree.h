// The visible part of a tree: as many nodes as fit on a screen, the most expensive first.
//
// A node here is a set of contexts that look the same from where the tree begins. Below a function
// are its callees, from all contexts in which it was called; above it its callers. The most
// expensive set is always opened next, so a limit on their number cuts off only what would not be
// seen, and a tree of a million contexts costs no more than the part shown.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/costs.h"
#include "analysis/diff.h"

namespace fbleprof::analysis {

struct VisibleNode {
  std::uint32_t parent = 0;  // index; the first node is its own parent
  profile::FunctionId function;
  profile::NodeId context;  // one of the set
  std::uint64_t cost = 0;
  std::uint64_t own = 0;    // 0 in trees of callers
  std::uint64_t calls = 0;  // 0 in trees of callers
  Change change;            // from the baseline, if there is one
  std::uint32_t contexts = 0;
  bool is_bound = false;      // the cost is at least that
  bool by_tail_call = false;  // reached by a jump
  bool recurses = false;      // calls back to a context further up
  std::uint32_t hidden = 0;   // groups below that are not shown
  std::uint64_t hidden_cost = 0;
};

struct VisibleLimit {
  std::size_t nodes = 4000;
  std::uint64_t least_cost = 0;  // cheaper ones are not shown
};

// Callees, below `from`: contexts that are not below one another. The first node stands for all of
// them. `diff`, which may be null, is the comparison with a baseline.
std::vector<VisibleNode> visible_callees(const Costs& costs,
                                         const std::vector<profile::NodeId>& from,
                                         const VisibleLimit& limit, const Diff* diff = nullptr);

// Callers: below the first node are the callers of `of`, with the cost of `of` in each.
std::vector<VisibleNode> visible_callers(const Costs& costs, const std::vector<profile::NodeId>& of,
                                         const VisibleLimit& limit);

// The inverted tree: below the root all functions by self cost, below each its callers.
std::vector<VisibleNode> visible_inverted(const Costs& costs, const VisibleLimit& limit);

}  // namespace fbleprof::analysis
