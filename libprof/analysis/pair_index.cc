#include "analysis/pair_index.h"

#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

std::uint64_t key_of(FunctionId caller, FunctionId callee) {
  return std::uint64_t{caller.index()} << 32 | callee.index();
}

}  // namespace

WaysIn ways_in(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  WaysIn ways{std::vector<EdgeId>(nodes.count()), {}};
  for (std::uint32_t e = 0; e < edges.count(); ++e) {
    const std::size_t to = edges.to[e].index();
    if (edges.kind[e] == EdgeKind::kTree && nodes.parent[to] == edges.from[e] &&
        !ways.of_node[to]) {
      ways.of_node[to] = EdgeId(e);
    } else {
      ways.others.push_back(e);
    }
  }
  return ways;
}

PairIndex::PairIndex(const Profile& profile, const std::vector<std::uint8_t>& wanted)
    : of_node_(profile.nodes().count(), kNone), of_edge_(profile.edges().count(), kNone) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const auto is_wanted = [&](FunctionId caller, FunctionId callee) {
    return wanted.empty() || wanted[caller.index()] != 0 || wanted[callee.index()] != 0;
  };
  FlatMap index(profile.nodes().count() / 8);
  const auto number = [&](FunctionId caller, FunctionId callee) {
    const auto [pair, added] =
        index.insert(key_of(caller, callee), static_cast<std::uint32_t>(caller_.size()));
    if (added) {
      caller_.push_back(caller);
      callee_.push_back(callee);
    }
    return pair;
  };
  const std::size_t count = nodes.count();
  for (std::size_t n = 0; n < count; ++n) {
    if (const std::size_t next = n + kFetchAhead; next < count && nodes.parent[next]) {
      index.prefetch(key_of(nodes.function[nodes.parent[next].index()], nodes.function[next]));
    }
    if (!nodes.parent[n]) continue;
    const FunctionId caller = nodes.function[nodes.parent[n].index()], callee = nodes.function[n];
    if (is_wanted(caller, callee)) of_node_[n] = number(caller, callee);
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const NodeId from = edges.from[e], to = edges.to[e];
    if (edges.kind[e] == EdgeKind::kTree && nodes.parent[to.index()] == from) {
      of_edge_[e] = of_node_[to.index()];
      continue;
    }
    const FunctionId caller = nodes.function[from.index()], callee = nodes.function[to.index()];
    if (is_wanted(caller, callee)) of_edge_[e] = number(caller, callee);
  }
}

}  // namespace fbleprof::analysis
