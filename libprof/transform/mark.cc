#include "transform/mark.h"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fbleprof::transform {

using namespace profile;

namespace {

bool are_one_run(const Profile& now, const Profile& then) {
  if (now.processes().size() != 1 || then.processes().size() != 1) return false;
  const Process &a = now.processes()[0], &b = then.processes()[0];
  return a.pid == b.pid && a.start_realtime_ns == b.start_realtime_ns && !a.is_imported;
}

// A file only grows: what an earlier reading found is still there, in the same order, among newer
// records.
class Matcher {
 public:
  Matcher(const Profile& now, const Profile& then)
      : now_(now),
        then_(then),
        now_sites_(sites_of_nodes(now)),
        then_sites_(sites_of_nodes(then)),
        node_of_(then.nodes().count()),
        next_(then.nodes().count()) {
    match_functions();
    match_trees();
    match_nodes();
  }

  // By node of `then`: the same node in the later reading; none if it is not there.
  const std::vector<NodeId>& nodes() const { return node_of_; }

  std::vector<EdgeId> edges() const {
    std::map<std::tuple<NodeId, NodeId, EdgeKind, std::uint64_t>, EdgeId> known;
    const Edges &now = now_.edges(), &then = then_.edges();
    for (std::size_t e = 0; e < now.count(); ++e) {
      if (now.kind[e] == EdgeKind::kTree) continue;
      known.try_emplace({now.from[e], now.to[e], now.kind[e], address_of(now_, now.site[e])},
                        EdgeId(e));
    }
    std::vector<EdgeId> found(then.count());
    for (std::size_t e = 0; e < then.count(); ++e) {
      if (then.kind[e] == EdgeKind::kTree) continue;
      const auto it = known.find({node_of_[then.from[e].index()], node_of_[then.to[e].index()],
                                  then.kind[e], address_of(then_, then.site[e])});
      if (it != known.end()) found[e] = it->second;
    }
    return found;
  }

 private:
  static std::uint64_t address_of(const Profile& profile, SiteId site) {
    return site ? profile.sites().address[site.index()] : 0;
  }

  // By node: its first call site. Siblings with the same function differ in nothing else.
  static std::vector<std::uint64_t> sites_of_nodes(const Profile& profile) {
    const Edges& edges = profile.edges();
    std::vector<std::uint64_t> sites(profile.nodes().count());
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] != EdgeKind::kTree) continue;
      sites[edges.to[e].index()] = address_of(profile, edges.site[e]);
    }
    return sites;
  }

  using FunctionKey =
      std::tuple<FunctionKind, std::string_view, std::uint64_t, std::string_view, std::uint32_t>;

  static FunctionKey key_of(const Profile& profile, std::size_t f) {
    const Functions& functions = profile.functions();
    const ModuleId module = functions.module[f];
    const auto text = [&](StringId id) { return id ? profile.text(id) : std::string_view(); };
    return {functions.kind[f], module ? text(profile.modules()[module.index()].path) : "",
            functions.address[f], text(functions.name[f]), functions.line[f]};
  }

  void match_functions() {
    std::map<FunctionKey, FunctionId> known;
    for (std::size_t f = 0; f < now_.functions().count(); ++f) {
      known.try_emplace(key_of(now_, f), FunctionId(f));
    }
    function_of_.resize(then_.functions().count());
    for (std::size_t f = 0; f < function_of_.size(); ++f) {
      const auto it = known.find(key_of(then_, f));
      if (it != known.end()) function_of_[f] = it->second;
    }
  }

  void match_trees() {
    std::size_t at = 0;
    for (const Tree& tree : then_.trees()) {
      const auto is_same = [&](const Tree& other) {
        return other.thread == tree.thread && other.labels == tree.labels;
      };
      std::size_t same = at;
      while (same < now_.trees().size() && !is_same(now_.trees()[same])) ++same;
      if (same == now_.trees().size()) continue;
      at = same + 1;
      put(tree.begin, now_.trees()[same].begin);
    }
  }

  void put(NodeId node, NodeId same) {
    node_of_[node.index()] = same;
    next_[node.index()] = same.index() + 1;
  }

  bool is_same(std::size_t node, std::size_t other) const {
    return function_of_[then_.nodes().function[node].index()] == now_.nodes().function[other] &&
           then_sites_[node] == now_sites_[other];
  }

  // Siblings keep their order: the search goes on from the last match, and restarts only if that
  // fails.
  void match_nodes() {
    const Nodes &then = then_.nodes(), &now = now_.nodes();
    for (std::size_t n = 0; n < then.count(); ++n) {
      const NodeId parent = then.parent[n];
      if (!parent || !node_of_[parent.index()]) continue;
      const std::uint32_t above = static_cast<std::uint32_t>(node_of_[parent.index()].index());
      const std::uint32_t begin = next_[parent.index()];
      const auto find = [&](std::uint32_t from, std::uint32_t end) {
        while (from < end && !is_same(n, from)) from = now.subtree_end[from];
        return from;
      };
      std::uint32_t found = find(begin, now.subtree_end[above]);
      if (found == now.subtree_end[above]) {
        found = find(above + 1, begin);
        if (found == begin) continue;
      }
      node_of_[n] = NodeId(found);
      next_[n] = found + 1;
      next_[parent.index()] = now.subtree_end[found];
    }
  }

  const Profile &now_, &then_;
  const std::vector<std::uint64_t> now_sites_, then_sites_;
  std::vector<FunctionId> function_of_;
  std::vector<NodeId> node_of_;
  std::vector<std::uint32_t> next_;  // where the next child's match is looked for
};

}  // namespace

std::optional<Profile> with_mark(const Profile& now, const Profile& then, const std::string& name) {
  if (!are_one_run(now, then)) return std::nullopt;
  const Matcher same(now, then);
  Parts parts = now.parts();
  StringInterner strings(now.strings());
  auto snapshots = std::make_shared<Snapshots>();
  snapshots->of_nodes = parts.nodes;
  snapshots->of_edges = parts.edges;
  Snapshot mark;
  mark.name = strings.intern(name);
  mark.generation = 1;
  mark.time_ns = then.processes()[0].duration_ns;

  // One word per metric, also for those that the file keeps elsewhere, or derives.
  std::vector<const Metric*> metrics;
  for (const Metric& metric : now.metrics()) {
    snapshots->sources.push_back(
        {format::MetricPlace::kValues, static_cast<std::uint32_t>(metrics.size())});
    metrics.push_back(then.find_metric(metric.name));
  }
  snapshots->words_per_node = static_cast<std::uint32_t>(metrics.size());
  const std::vector<EdgeId> edges = same.edges();
  Counts tree_calls(then.nodes().count());
  for (std::size_t e = 0; e < then.edges().count(); ++e) {
    if (then.edges().kind[e] == EdgeKind::kTree) {
      tree_calls.set(then.edges().to[e].index(), then.edges().calls[e]);
    } else if (edges[e]) {
      mark.edges.push_back(edges[e]);
      mark.edge_calls.push_back(then.edges().calls[e]);
    }
  }
  for (std::size_t n = 0; n < then.nodes().count(); ++n) {
    if (!same.nodes()[n]) continue;
    mark.nodes.push_back(same.nodes()[n]);
    mark.tree_calls.push_back(tree_calls[n]);
    for (const Metric* metric : metrics) {
      mark.words.push_back(metric == nullptr ? 0 : metric->value(NodeId(n)));
    }
  }
  snapshots->all.push_back(std::move(mark));
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.snapshots = std::move(snapshots);
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
