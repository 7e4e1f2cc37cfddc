// Makes a Profile from nodes added in any order, parents first: for importers, transforms and
// tests.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "profile/profile.h"

namespace fbleprof::profile {

// The builder has its own NodeIds; build() renumbers them into preorder.
class ProfileBuilder {
 public:
  // An empty builder, or one with all tables of `base` except its trees, nodes, edges and values.
  ProfileBuilder();
  explicit ProfileBuilder(const Profile& base);

  StringId string(std::string_view text) { return strings_.intern(text); }
  ProcessId add_process(Process process);
  ThreadId add_thread(Thread thread);
  ModuleId add_module(Module module);
  // The place that returns to `address` of `module`: made on first use.
  SiteId site(ModuleId module, std::uint64_t address);
  // Always a new function.
  FunctionId add_function(const FunctionKey& key);
  // The function that has only a name: made on first use.
  FunctionId named_function(std::string_view name, FunctionKind kind = FunctionKind::kBlock);
  MetricId add_metric(std::string_view name, std::string_view unit, Role role,
                      Aggregation aggregation = Aggregation::kSum);
  // A metric whose name alone tells what it measures.
  MetricId add_metric(std::string_view name, std::string_view unit,
                      Aggregation aggregation = Aggregation::kSum);
  // Another profile's metric, without its values.
  MetricId add_metric(const Metric& like);

  // The root of a new tree.
  NodeId add_tree(FunctionId root, ProcessId process = {}, ThreadId thread = {},
                  LabelSetId labels = {});
  LabelSetId add_label_set(LabelSet labels);
  // The child of `parent` for `function`: found, or made with its tree edge. Children that are
  // entered from different sites are different.
  NodeId child(NodeId parent, FunctionId function, SiteId site = {});
  // Adds `calls` to the edge, which is made if it does not exist. Two nodes have a back or tail
  // edge for each `site`, but one tree edge, which keeps its first one.
  void add_edge(NodeId from, NodeId to, EdgeKind kind, std::uint64_t calls, std::uint8_t flags = 0,
                SiteId site = {});
  // Adds to the node's own value (or, as the metric says, raises or replaces it).
  void charge(NodeId node, MetricId metric, std::uint64_t value);
  void warn(std::string line) { parts_.warnings.push_back(std::move(line)); }

  // The profile in preorder, children in the order they were added. `calls` is recomputed from the
  // edges if there is such a metric, and added if there is none and any edge has calls.
  Profile build();

 private:
  struct NewNode {
    NodeId parent;
    FunctionId function;
    std::uint32_t tree_edge;  // index of the edge from the parent; kNoEdge for a root
  };
  struct NewEdge {
    NodeId from, to;
    EdgeKind kind;
    std::uint8_t flags;
    std::uint64_t calls;
    SiteId site;
  };
  // Values by what leads from where to where, and from which site. Most profiles know few sites:
  // what has none is found with one look instead of two.
  class Ways {
   public:
    std::pair<std::uint32_t, bool> insert(std::uint32_t from, std::uint32_t to, SiteId site,
                                          std::uint32_t value);

   private:
    FlatMap ways_;        // from << 32 | to: without a site
    FlatMap targets_;     // to << 32 | site: a number for both
    FlatMap from_sites_;  // from << 32 | that number
  };
  std::vector<std::uint32_t> renumber(Nodes& out) const;

  Parts parts_;
  StringInterner strings_;
  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  std::vector<Module> modules_;
  Functions functions_;
  Sites sites_;
  std::vector<LabelSet> label_sets_;
  std::vector<Tree> trees_;  // begin = the root's builder id
  std::vector<NewNode> nodes_;
  std::vector<NewEdge> edges_;
  std::vector<Metric> metrics_;
  std::vector<Counts> values_;
  std::set<std::string> cut_;     // metrics that exceeded 2^64 - 1 in a node or edge
  Ways children_;                 // from a node to a function
  Ways back_edges_, tail_edges_;  // from node to node
  FlatMap site_index_;            // hash of module and address; see site()
  FlatMap named_;                 // name << 16 | kind
};

}  // namespace fbleprof::profile
