// Nodes and edges in the order of the function that they lead to, for tables of callers and
// callees.
//
// A hash table of a million entries misses the cache at every step. Dealing nodes out by callee
// first leaves groups small enough to sort, which is several times faster. Within a group the order
// stays that of the profile: preorder.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

class ByCallee {
 public:
  explicit ByCallee(const profile::Profile& profile);

  std::size_t function_count() const { return first_.size() - 1; }
  // The nodes of `function`, in preorder.
  const std::uint32_t* begin(std::size_t function) const {
    return nodes_.data() + first_[function];
  }
  const std::uint32_t* end(std::size_t function) const {
    return nodes_.data() + first_[function + 1];
  }
  // Edges that are no tree edges and lead to nodes of `function`.
  const std::uint32_t* edges_begin(std::size_t function) const {
    return edges_.data() + first_edge_[function];
  }
  const std::uint32_t* edges_end(std::size_t function) const {
    return edges_.data() + first_edge_[function + 1];
  }
  // The tree edge that leads to a node; kNoEdge: there is none.
  std::uint32_t tree_edge(std::uint32_t node) const { return tree_edge_[node]; }
  static constexpr std::uint32_t kNoEdge = 0xffffffffu;

 private:
  std::vector<std::uint32_t> first_, nodes_, first_edge_, edges_, tree_edge_;
};

}  // namespace fbleprof::analysis
