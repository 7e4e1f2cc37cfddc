// The values of a profile's nodes and edges at earlier moments.
//
// A file can hold several sets of values over the same contexts: taken on request, at intervals, or
// when a level was higher than ever before. A set is kept as written, an item for each node or edge
// that had a value, so that its size depends on the moment it was taken, not on the tree's later
// growth. transform/window.h makes a profile of the difference between two sets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "format/format.h"
#include "profile/counts.h"
#include "profile/ids.h"

namespace fbleprof::profile {

struct Nodes;
struct Edges;
using SnapshotReason = format::SnapshotReason;

struct Snapshot {
  StringId name;                 // none: it was not named
  std::uint32_t generation = 0;  // from 1, in the order in which they were taken
  std::uint64_t time_ns = 0;     // since the start of the profile
  SnapshotReason reason = SnapshotReason::kAsked;

  std::vector<NodeId> nodes;
  std::vector<std::uint64_t> tree_calls;  // by place in `nodes`: of the edge from the parent
  std::vector<std::uint64_t> words;       // Snapshots::words_per_node per entry of `nodes`
  std::vector<EdgeId> edges;              // other than tree edges
  std::vector<std::uint64_t> edge_calls;  // by place in `edges`
};

// How a metric's value is obtained from a snapshot.
struct MetricSource {
  format::MetricPlace place = format::MetricPlace::kCalls;
  std::uint32_t word = 0;
  struct Term {
    std::uint32_t metric;  // index into the profile's metrics
    bool is_minus;
  };
  std::vector<Term> terms = {};  // kDerived
};

struct Snapshots {
  std::vector<Snapshot> all;  // the oldest first
  std::uint32_t words_per_node = 0;
  std::vector<MetricSource> sources;  // by metric of the profile
  // The tables that the ids refer to.
  std::shared_ptr<const Nodes> of_nodes;
  std::shared_ptr<const Edges> of_edges;

  bool is_of(const Nodes* nodes, const Edges* edges) const {
    return of_nodes.get() == nodes && of_edges.get() == edges;
  }

  // The calls of each edge at a snapshot.
  Counts edge_calls(const Snapshot& at) const;
  // Each node's value of a metric at a snapshot, by NodeId.
  Counts values(const Snapshot& at, std::size_t metric) const;
};

}  // namespace fbleprof::profile
