#include "profile/snapshots.h"

#include <algorithm>
#include <utility>

#include "profile/metric_reader.h"
#include "profile/profile.h"
#include "profile/snapshot_columns.h"

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
  return std::move(columns_at(*this, at, metric + 1)[metric]);
}

std::vector<Counts> columns_at(const Snapshots& snapshots, const Snapshot& at,
                               std::size_t metrics) {
  const std::vector<MetricSource>& sources = snapshots.sources;
  const std::size_t nodes = snapshots.of_nodes->count(), width = snapshots.words_per_node;
  std::vector<Counts> columns(std::max(metrics, sources.size()), Counts(nodes));
  for (std::size_t m = 0; m < sources.size(); ++m) {
    const MetricSource& source = sources[m];
    switch (source.place) {
      case format::MetricPlace::kCalls:
        for (std::size_t i = 0; i < at.nodes.size(); ++i) {
          columns[m].add(at.nodes[i].index(), at.tree_calls[i]);
        }
        for (std::size_t i = 0; i < at.edges.size(); ++i) {
          columns[m].add(snapshots.of_edges->to[at.edges[i].index()].index(), at.edge_calls[i]);
        }
        break;
      case format::MetricPlace::kValues:
        for (std::size_t i = 0; i < at.nodes.size() && source.word < width; ++i) {
          columns[m].set(at.nodes[i].index(), at.words[i * width + source.word]);
        }
        break;
      case format::MetricPlace::kDerived:
        break;
    }
  }
  derive(columns, sources, nodes);
  columns.resize(metrics);
  return columns;
}

}  // namespace fbleprof::profile
