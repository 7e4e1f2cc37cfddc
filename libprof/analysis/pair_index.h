// Numbers the pairs of caller and callee, so that tables of calls find their rows.
//
// A hash table of a quarter of a million entries misses the cache at nearly every step. So a
// counting sort orders calls by callee first; within one callee a small table gives the caller's
// pair.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/origin.h"
#include "profile/profile.h"

namespace fbleprof::analysis {

// How many nodes ahead a loop with random accesses prefetches.
inline constexpr std::size_t kFetchAhead = 12;

// Most edges lead to a node from its parent, one each: these are counted with their nodes, in
// order, and only the others are looked up.
struct WaysIn {
  std::vector<profile::EdgeId> of_node;  // none: a root, or only sampling saw it
  std::vector<std::uint32_t> others;     // edges; a second one from the parent is damage
};
WaysIn ways_in(const profile::Profile& profile);

class PairIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // `wanted`, by function: only pairs with a function that it marks; empty: all.
  explicit PairIndex(const profile::Profile& profile, const std::vector<std::uint8_t>& wanted = {});

  // The pairs of a profile that was made from another, whose pairs are known: `source` keeps its
  // numbers here, and pairs that are no longer there stay without calls. `source` is not such a
  // derived index itself.
  PairIndex(const profile::Profile& profile, const PairIndex& source,
            const profile::Origin& origin);

  std::size_t count() const { return caller_.size(); }
  profile::FunctionId caller(std::uint32_t pair) const { return caller_[pair]; }
  profile::FunctionId callee(std::uint32_t pair) const { return callee_[pair]; }
  // The pair of a node and its parent; kNone: a root, or not wanted.
  std::uint32_t of_node(std::size_t node) const { return of_node_[node]; }
  // The pair of each edge; likewise.
  const std::vector<std::uint32_t>& of_edges() const { return of_edge_; }

 private:
  std::vector<profile::FunctionId> caller_, callee_;  // by pair; first those of the first callee
  std::vector<std::uint32_t> of_node_, of_edge_;
};

}  // namespace fbleprof::analysis
