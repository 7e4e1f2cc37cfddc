// The call trees of a file: from linked records to columns in preorder.
#pragma once

#include <functional>
#include <vector>

#include "profile/profile.h"
#include "profile/records.h"
#include "profile/salvage.h"

namespace fbleprof::profile {

// Where a metric's values are, checked: no other place of a record can be asked for.
struct MetricSource {
  format::MetricPlace place;
  std::uint32_t slot;  // 8-byte word of Node or Counters
};

// Walks trees one after the other and appends what it finds to the columns.
class TreeReader {
 public:
  // `function_of` turns a Ref to a function, found in the field at byte `from`, into its id.
  using FunctionOf = std::function<FunctionId(format::Ref ref, std::uint64_t from)>;
  using SiteOf = std::function<SiteId(std::uint64_t run_time_address)>;

  TreeReader(Records& records, std::vector<MetricSource> metrics, FunctionOf function_of,
             SiteOf site_of);

  // Reads the tree below `root`, found in the field at byte `from`. None if there is no node there.
  Tree read(format::Ref root, std::uint64_t from, const Salvage& salvage);

  // After the last tree: back and tail edges get their ends, `calls` is summed up.
  void finish();

  Nodes& nodes() { return nodes_; }
  Edges& edges() { return edges_; }
  std::vector<Counts>& values() { return values_; }
  std::uint64_t wrong_links() const { return wrong_links_; }

 private:
  struct Open {
    format::Ref node;
    NodeId id;
    format::Ref edge;          // the next one to follow
    std::uint64_t edge_from;   // byte of the field that holds `edge`
    std::size_t salvaged = 0;  // edges of salvage already seen
  };

  bool open_node(format::Ref ref, NodeId parent, std::uint64_t from);
  void follow(Open& open, format::Ref edge, const format::Edge& record);

  Records& records_;
  const std::vector<MetricSource> metrics_;
  const FunctionOf function_of_;
  const SiteOf site_of_;
  Nodes nodes_;
  Edges edges_;
  std::vector<Counts> values_;
  std::vector<Open> stack_;
  std::vector<std::uint32_t> unresolved_;  // back and tail edges, whose `to` holds a Ref yet
  std::uint64_t wrong_links_ = 0;
};

}  // namespace fbleprof::profile
