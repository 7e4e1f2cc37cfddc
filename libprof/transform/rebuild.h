// The one algorithm behind merging, filtering and folding: rebuilds a forest as one tree.
//
// A node of the result is a bundle: all source nodes with the same path, once functions are
// replaced by their class, folded nodes are left out, and dropped ones are gone. Bundles are opened
// from the root down. The children of all members are distributed by function to new bundles, with
// one array slot per function and no hashing. A folded child joins its parent's bundle instead, and
// its own children are distributed there. The result comes out in preorder.
//
// Calls stay exact: each edge moves to the bundles of its ends. Edges into folded nodes vanish with
// them; edges out of them leave the caller into which they were folded. A back edge into a folded
// node leaves a trace: the functions called there recurse (by an edge whose calls are not known:
// 0), and the costs below them are lower bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/origin.h"
#include "profile/profile.h"

namespace fbleprof::transform {

// What to rebuild. An empty vector means "unchanged".
struct Rebuilding {
  std::vector<profile::FunctionId> class_of;  // by function: its representative
  std::vector<std::uint8_t> folded;           // by function (before class_of): leave it out
  std::vector<std::uint8_t> folded_node;      // by node: leave it out
  std::vector<std::uint8_t> kept_subtree;     // by node: 0 = drop it and all below
  std::vector<std::uint8_t> kept_own;         // by node: 0 = its own values and calls are dropped
  // By tree: functions that stand between the root and the tree's nodes, outermost first.
  std::vector<std::vector<profile::FunctionId>> groups;
  profile::FunctionId root;         // function of the result's root
  profile::FunctionId folded_away;  // child of the root for paths folded whole; none: the root
  bool paths_differ = false;        // the source is one tree in which each path is one node
};

// The result shares everything with `source` except trees, nodes, edges and metric columns. It has
// one tree. If the source keeps its call sites apart, calls from different places lead to different
// nodes. `origin`, if not null and no function has another class, receives where the contexts come
// from.
profile::Profile rebuild(const profile::Profile& source, const Rebuilding& how,
                         profile::Origin* origin = nullptr);

}  // namespace fbleprof::transform
