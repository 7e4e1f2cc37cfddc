#include "symbolize/unfold_inlines.h"

#include <map>
#include <string>
#include <tuple>

#include "profile/builder.h"

namespace fbleprof::symbolize {
namespace {

using profile::EdgeKind;
using profile::FunctionId;
using profile::FunctionKind;
using profile::MetricId;
using profile::ModuleId;
using profile::NodeId;
using profile::SiteId;
using profile::StringId;

class Unfolding {
 public:
  Unfolding(const profile::Profile& source, const InlinedCalls& inlined)
      : source_(source), inlined_(inlined), builder_(source), place_(source.nodes().count()) {}

  profile::Profile run() && {
    find_tree_edges();
    for (const profile::Tree& tree : source_.trees()) add_tree(tree);
    add_edges();
    add_values();
    return builder_.build();
  }

 private:
  // The site of the call that each node was entered by.
  void find_tree_edges() {
    site_of_.resize(source_.nodes().count());
    const profile::Edges& edges = source_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] == EdgeKind::kTree) site_of_[edges.to[e].index()] = edges.site[e];
    }
  }

  void add_tree(const profile::Tree& tree) {
    const profile::Nodes& nodes = source_.nodes();
    const bool sites_known = tree.process && (source_.processes()[tree.process.index()].flags &
                                              format::kHeaderCallSites) != 0;
    for (std::uint32_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      const FunctionId function = nodes.function[n];
      knows_sites_.resize(n + 1);
      knows_sites_[n] = sites_known;
      if (!nodes.parent[n]) {
        place_[n] = builder_.add_tree(function, tree.process, tree.thread, tree.labels);
        continue;
      }
      const NodeId parent = nodes.parent[n];
      NodeId caller = below_site(parent, site_of_[n]);
      const auto& at = inlined_.at_function;
      if (function.index() < at.size()) {
        caller = below(caller, source_.functions().module[function.index()], at[function.index()]);
      }
      // Contexts that were recorded apart by their sites stay so.
      place_[n] = builder_.child(caller, function, site_of_[n]);
    }
  }

  // The node that calls from `site` in `node` leave.
  NodeId below_site(NodeId node, SiteId site) {
    const NodeId place = place_[node.index()];
    if (!knows_sites_[node.index()] || !site || site.index() >= inlined_.at_site.size()) {
      return place;
    }
    return below(place, source_.sites().module[site.index()], inlined_.at_site[site.index()]);
  }

  NodeId below(NodeId node, ModuleId module, const std::vector<SourceFrame>& frames) {
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const NodeId next = builder_.child(node, inlined_function(module, *frame));
      builder_.add_edge(node, next, EdgeKind::kTree, 0, format::kEdgeSampled);
      node = next;
    }
    return node;
  }

  FunctionId inlined_function(ModuleId module, const SourceFrame& frame) {
    const StringId name = builder_.string(frame.name);
    const StringId linkage =
        frame.linkage_name.empty() ? StringId() : builder_.string(frame.linkage_name);
    const auto [found, is_new] =
        functions_.try_emplace(std::tuple(module.index(), name.index(), linkage.index()));
    if (is_new) {
      profile::FunctionKey key;
      key.kind = FunctionKind::kNative;
      key.module = module;
      key.name = name;
      key.linkage_name = linkage;
      key.flags = profile::kFunctionInlined;
      if (frame.declared_line != 0) {
        key.file = builder_.string(frame.declared_file);
        key.line = frame.declared_line;
      }
      found->second = builder_.add_function(key);
    }
    return found->second;
  }

  void add_edges() {
    const profile::Edges& edges = source_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const NodeId to = place_[edges.to[e].index()];
      // The tree edges through inlined functions were made with the nodes; the last one is the
      // original edge. Tail calls leave a frame that is gone, with its inlined calls.
      const NodeId from = edges.kind[e] == EdgeKind::kBack
                              ? below_site(edges.from[e], edges.site[e])
                              : place_[edges.from[e].index()];
      builder_.add_edge(from, to, edges.kind[e], edges.calls[e], edges.flags[e], edges.site[e]);
    }
  }

  void add_values() {
    for (std::size_t m = 0; m < source_.metrics().size(); ++m) {
      const profile::Metric& metric = source_.metrics()[m];
      if (!metric.values) continue;
      for (std::size_t n = 0; n < place_.size(); ++n) {
        const std::uint64_t value = (*metric.values)[n];
        if (value != 0) builder_.charge(place_[n], MetricId(m), value);
      }
    }
  }

  const profile::Profile& source_;
  const InlinedCalls& inlined_;
  profile::ProfileBuilder builder_;
  std::vector<NodeId> place_;      // by source node: its place in the result
  std::vector<SiteId> site_of_;    // by source node
  std::vector<bool> knows_sites_;  // by source node
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, FunctionId> functions_;
};

}  // namespace

profile::Profile unfold_inlines(const profile::Profile& profile, const InlinedCalls& inlined) {
  return Unfolding(profile, inlined).run();
}

}  // namespace fbleprof::symbolize
