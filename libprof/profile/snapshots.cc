#include "profile/snapshots.h"

#include "profile/profile.h"

namespace fbleprof::profile {

Counts Snapshots::edge_calls(const Snapshot& at) const {
  Counts calls(of_edges->count());
  for (std::size_t i = 0; i < at.edges.size(); ++i) {
    calls.add(at.edges[i].index(), at.edge_calls[i]);
  }
  // A tree edge is identified by the node that it leads to.
  Counts by_node(of_nodes->count());
  for (std::size_t i = 0; i < at.nodes.size(); ++i) {
    by_node.add(at.nodes[i].index(), at.tree_calls[i]);
  }
  for (std::size_t e = 0; e < of_edges->count(); ++e) {
    if (of_edges->kind[e] == EdgeKind::kTree) calls.add(e, by_node[of_edges->to[e].index()]);
  }
  return calls;
}

Counts Snapshots::values(const Snapshot& at, std::size_t metric) const {
  Counts values(of_nodes->count());
  // A metric that was made after reading is in no snapshot.
  if (metric >= sources.size()) return values;
  const MetricSource& source = sources[metric];
  switch (source.place) {
    case format::MetricPlace::kCalls:
      for (std::size_t i = 0; i < at.nodes.size(); ++i) {
        values.add(at.nodes[i].index(), at.tree_calls[i]);
      }
      for (std::size_t i = 0; i < at.edges.size(); ++i) {
        values.add(of_edges->to[at.edges[i].index()].index(), at.edge_calls[i]);
      }
      break;
    case format::MetricPlace::kValues:
      for (std::size_t i = 0; i < at.nodes.size() && source.word < words_per_node; ++i) {
        values.set(at.nodes[i].index(), at.words[i * words_per_node + source.word]);
      }
      break;
    case format::MetricPlace::kDerived:
      for (const MetricSource::Term& term : source.terms) {
        this->values(at, term.metric).each([&](std::size_t node, std::uint64_t value) {
          values.add_signed(node, term.is_minus ? 0 - value : value);
        });
      }
      break;
  }
  return values;
}

}  // namespace fbleprof::profile
