#include "transform/depth.h"

#include <algorithm>
#include <vector>

#include "profile/builder.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

class Folder {
 public:
  Folder(const Profile& profile, std::uint32_t limit)
      : profile_(profile),
        nodes_(profile.nodes()),
        limit_(limit),
        builder_(profile),
        deeper_(builder_.named_function("[deeper]", FunctionKind::kDeeper)),
        moved_(nodes_.count()),
        ancestor_(nodes_.count()) {}

  Profile run() {
    for (const Tree& tree : profile_.trees()) {
      for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) place(n, tree);
    }
    const Edges& edges = profile_.edges();
    for (std::size_t e = 0; e < edges.count(); ++e) add_edge(e);
    const std::vector<Metric>& metrics = profile_.metrics();
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      if (metrics[m].role == Role::kCalls || !metrics[m].values) continue;
      for (std::size_t n = 0; n < nodes_.count(); ++n) {
        const std::uint64_t value = metrics[m].value(NodeId(n));
        if (value != 0) builder_.charge(moved_[n], MetricId(m), value);
      }
    }
    Parts parts = builder_.build().parts();
    auto processes = std::make_shared<std::vector<Process>>(*parts.processes);
    for (Process& process : *processes) process.depth_limit = limit_;
    parts.processes = std::move(processes);
    return Profile(std::move(parts));
  }

 private:
  FunctionKind kind_of(std::size_t n) const {
    return profile_.functions().kind[nodes_.function[n].index()];
  }

  bool is_below_limit(std::size_t n) const {
    return nodes_.depth[n] > limit_ && kind_of(n) != FunctionKind::kInstruction;
  }

  // Where caller and callee go among the contexts that are too deep.
  NodeId pair(NodeId ancestor, FunctionId caller, FunctionId callee) {
    const NodeId top = builder_.child(ancestor, deeper_);
    return builder_.child(builder_.child(top, caller), callee);
  }

  void place(std::size_t n, const Tree& tree) {
    const NodeId parent = nodes_.parent[n];
    const FunctionId function = nodes_.function[n];
    if (!parent) {
      moved_[n] = builder_.add_tree(function, tree.process, tree.thread, tree.labels);
    } else if (!is_below_limit(n)) {
      moved_[n] = builder_.child(moved_[parent.index()], function);
    } else if (kind_of(n) == FunctionKind::kDeeper) {
      moved_[n] = builder_.child(ancestor_[parent.index()], deeper_);
    } else if (kind_of(parent.index()) == FunctionKind::kDeeper) {
      // The caller was too deep already.
      moved_[n] = builder_.child(moved_[parent.index()], function);
    } else {
      moved_[n] = pair(ancestor_[parent.index()], nodes_.function[parent.index()], function);
    }
    ancestor_[n] = parent && is_below_limit(n) ? ancestor_[parent.index()] : moved_[n];
  }

  void add_edge(std::size_t e) {
    const Edges& edges = profile_.edges();
    const std::size_t from = edges.from[e].index(), to = edges.to[e].index();
    NodeId target = moved_[to];
    EdgeKind kind = edges.kind[e];
    // Beyond the limit there are no back edges: each call belongs to its pair.
    if (kind != EdgeKind::kTree && is_below_limit(from)) {
      target = pair(ancestor_[from], nodes_.function[from], nodes_.function[to]);
      kind = EdgeKind::kTree;
    }
    builder_.add_edge(moved_[from], target, kind, edges.calls[e], edges.flags[e], edges.site[e]);
  }

  const Profile& profile_;
  const Nodes& nodes_;
  const std::uint32_t limit_;
  ProfileBuilder builder_;
  const FunctionId deeper_;
  std::vector<NodeId> moved_;     // by node: its place in the result
  std::vector<NodeId> ancestor_;  // by node: the context at the limit that it is or stands below
};

}  // namespace

std::uint32_t depth_limit(const Profile& profile) {
  std::uint32_t least = 0;
  for (const Process& process : profile.processes()) {
    if (process.depth_limit != 0 && (least == 0 || process.depth_limit < least)) {
      least = process.depth_limit;
    }
  }
  return least;
}

Profile fold_deeper(const Profile& profile, std::uint32_t limit) {
  return Folder(profile, limit).run();
}

}  // namespace fbleprof::transform
