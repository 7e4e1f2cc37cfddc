// Reads the snapshots of a file that are complete.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "profile/profile.h"
#include "profile/records.h"

namespace fbleprof::profile {

class SnapshotReader {
 public:
  SnapshotReader(const FileImage& image, RecordWalk& walk) : image_(image), walk_(walk) {}

  bool empty() const { return records_.empty(); }
  void add(format::Ref ref, const format::Snapshot& record) { records_.emplace_back(ref, record); }
  void add_items(const Record& record);

  // Takes all edges that are not tree edges: a run of items, then the positions of those edges in
  // it.
  void add_edges(const Items& items);
  void place_edge(std::uint64_t item, EdgeId edge);

  using NodeOf = std::function<NodeId(format::Ref)>;
  using StringOf = std::function<StringId(format::Ref ref, std::uint64_t from)>;
  // Null if there are none.
  std::shared_ptr<const Snapshots> read(std::shared_ptr<const Nodes> nodes,
                                        std::shared_ptr<const Edges> edges,
                                        const std::vector<MetricSource>& sources,
                                        const NodeOf& node_of, const StringOf& string_of);

 private:
  struct ItemsOf {
    format::Ref snapshot;
    bool of_nodes;
    Items items;
  };
  struct EdgeRun {
    Items items;
    std::size_t first;  // of its edges in edge_ids_
  };
  EdgeId edge(format::Ref ref) const;
  void read_items(const ItemsOf& run, std::uint32_t words, Snapshot& out, const NodeOf& node_of);

  const FileImage& image_;
  RecordWalk& walk_;
  std::vector<std::pair<format::Ref, format::Snapshot>> records_;
  std::vector<ItemsOf> items_;
  std::vector<EdgeRun> edge_runs_;
  std::vector<EdgeId> edge_ids_;
};

}  // namespace fbleprof::profile
