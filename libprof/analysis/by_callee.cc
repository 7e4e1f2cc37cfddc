#include "analysis/by_callee.h"

namespace fbleprof::analysis {

using namespace profile;

ByCallee::ByCallee(const Profile& profile)
    : first_(profile.functions().count() + 1),
      nodes_(profile.nodes().count()),
      first_edge_(first_.size()),
      tree_edge_(nodes_.size(), kNoEdge) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  for (const FunctionId function : nodes.function) ++first_[function.index() + 1];
  for (std::size_t f = 1; f < first_.size(); ++f) first_[f] += first_[f - 1];
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t n = 0; n < nodes.count(); ++n) {
    nodes_[next[nodes.function[n].index()]++] = n;
  }

  // A second tree edge to a node is damage: it is kept among the others.
  std::vector<std::uint32_t> others;
  for (std::uint32_t e = 0; e < edges.count(); ++e) {
    const std::uint32_t to = edges.to[e].index();
    if (edges.kind[e] == EdgeKind::kTree && nodes.parent[to] == edges.from[e] &&
        tree_edge_[to] == kNoEdge) {
      tree_edge_[to] = e;
    } else {
      others.push_back(e);
    }
  }
  for (const std::uint32_t e : others) {
    ++first_edge_[nodes.function[edges.to[e].index()].index() + 1];
  }
  for (std::size_t f = 1; f < first_edge_.size(); ++f) first_edge_[f] += first_edge_[f - 1];
  next.assign(first_edge_.begin(), first_edge_.end() - 1);
  edges_.resize(others.size());
  for (const std::uint32_t e : others) {
    edges_[next[nodes.function[edges.to[e].index()].index()]++] = e;
  }
}

}  // namespace fbleprof::analysis
