// Recursion as a whole: each strongly connected component of the call graph as one entry.
//
// Functions that can call each other in a circle are a clique; a function without recursion is a
// clique of its own. A clique's cost is charged to the call that enters it. This cost is exact even
// if recursion was folded, because folding moves cost only inside the clique. Inside, each member
// has its own cost and that of its own children, the functions that it calls outside the clique:
// together they are the clique's cost.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

enum class Recursion {
  kNone,     // does not call itself, directly or through others
  kSelf,     // calls itself; calls were not counted, so nothing more is known
  kSingle,   // calls itself at most once a call, on average, as far as can be seen
  kSeveral,  // calls itself more than once a call somewhere: a tree of calls
  kMutual,   // several functions call each other
};

struct CliqueMember {
  profile::FunctionId function;
  std::uint64_t self = 0;
  std::uint64_t children = 0;      // what it calls outside the clique
  std::uint64_t entry_cost = 0;    // of the paths that enter the clique here
  std::uint64_t entries = 0;       // calls from outside
  std::uint64_t inside_calls = 0;  // calls from members, tail calls included
};

struct Clique {
  std::vector<CliqueMember> members;  // most expensive (self + children) first
  Recursion recursion = Recursion::kNone;
  std::uint64_t cost = 0;  // of all paths that enter it
  std::uint64_t self = 0;
  std::uint64_t entries = 0, inside_calls = 0;
  // The most members that are on one path; with folding there may have been more.
  std::uint64_t depth = 0;
  bool depth_is_bound = false;
};

struct Cliques {
  std::vector<Clique> cliques;  // most expensive first; the root is in none
  // By function: index into cliques. kNoClique: the root, or what does not stand in the tree.
  std::vector<std::uint32_t> of;
};
inline constexpr std::uint32_t kNoClique = 0xffffffffu;

Cliques find_cliques(const Costs& costs);
// For callers that have the profile's pairs already.
Cliques find_cliques(const Costs& costs, const PairIndex& pairs);

}  // namespace fbleprof::analysis
