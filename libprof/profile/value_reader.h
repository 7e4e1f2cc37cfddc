// Reads rows of values: which node each belongs to, and its contents.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/counts.h"
#include "profile/ids.h"
#include "profile/records.h"
#include "profile/snapshots.h"

namespace fbleprof::profile {

class ValueReader {
 public:
  // The rows of one record, in the order of the file.
  void add(const Items& items);
  // False: there is no row at `ref`, or it belongs to another node.
  bool claim(NodeId node, format::Ref ref);
  // Reads all claimed rows. `columns` and `sources` by metric; a column that holds nothing stays
  // empty, others get `node_count` values.
  void read(FileWindow& window, std::size_t node_count, const std::vector<MetricSource>& sources,
            std::vector<Counts>& columns) const;

 private:
  struct Run {
    Items items;
    std::size_t first;  // of its rows in owner_
  };
  std::vector<Run> runs_;
  std::vector<NodeId> owner_;  // by row
};

}  // namespace fbleprof::profile
