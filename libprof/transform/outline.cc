#include "transform/outline.h"

#include <algorithm>

namespace fbleprof::transform {

using namespace profile;

namespace {

// By tree: the edges that leave its nodes.
std::vector<std::uint64_t> edge_counts(const Profile& profile) {
  std::vector<std::uint64_t> counts(profile.trees().size());
  // Most profiles have one tree: then there is no need to find the tree of each of millions of
  // edges.
  if (counts.size() == 1) counts[0] = profile.edges().count();
  if (counts.size() < 2) return counts;
  // By node: its tree. Trees are consecutive ranges.
  std::vector<std::uint32_t> tree_of(profile.nodes().count());
  for (std::uint32_t t = 0; t < profile.trees().size(); ++t) {
    const Tree& tree = profile.trees()[t];
    std::fill(tree_of.begin() + tree.begin.index(), tree_of.begin() + tree.end.index(), t);
  }
  for (const NodeId from : profile.edges().from) ++counts[tree_of[from.index()]];
  return counts;
}

MetricTotal total_of(const Metric& metric, const Tree& tree) {
  MetricTotal total{metric.name, 0};
  for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
    metric.add(total.value, metric.value(NodeId(n)));
  }
  return total;
}

}  // namespace

Profile outline(const Profile& profile) {
  StringInterner strings;
  const auto text = [&](StringId& id) {
    if (id) id = strings.intern(profile.text(id));
  };
  const auto labels = [&](std::vector<Label>& of) {
    for (Label& label : of) {
      text(label.key);
      text(label.value);
    }
  };
  auto processes = std::make_shared<std::vector<Process>>(profile.processes());
  for (Process& process : *processes) {
    for (StringId* id :
         {&process.file, &process.executable, &process.command_line, &process.working_directory,
          &process.host, &process.goes_on_in, &process.identity}) {
      text(*id);
    }
    for (StringId& note : process.notes) text(note);
    labels(process.labels);
  }
  auto threads = std::make_shared<std::vector<Thread>>(profile.threads());
  for (Thread& thread : *threads) {
    text(thread.name);
    labels(thread.labels);
  }

  auto label_sets = std::make_shared<std::vector<LabelSet>>(profile.label_sets());
  for (LabelSet& set : *label_sets) labels(set);

  std::vector<TreeFigures> figures(profile.trees().size());
  const std::vector<std::uint64_t> counts = edge_counts(profile);
  auto trees = std::make_shared<std::vector<Tree>>(profile.trees());
  for (std::size_t t = 0; t < trees->size(); ++t) {
    Tree& tree = (*trees)[t];
    TreeFigures& own = figures[t];
    own.edge_count = counts[t];
    own.node_count = tree.end.index() - tree.begin.index();
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      own.deepest = std::max(own.deepest, profile.nodes().depth[n]);
    }
    for (const Metric& metric : profile.metrics()) own.totals.push_back(total_of(metric, tree));
    tree.begin = tree.end = NodeId(0);
    tree.figures = std::make_shared<TreeFigures>(std::move(own));
  }

  Parts parts;
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.processes = std::move(processes);
  parts.threads = std::move(threads);
  parts.modules = std::make_shared<std::vector<Module>>();
  parts.functions = std::make_shared<Functions>();
  parts.sites = std::make_shared<Sites>();
  parts.trees = std::move(trees);
  parts.label_sets = std::move(label_sets);
  parts.nodes = std::make_shared<Nodes>();
  parts.edges = std::make_shared<Edges>();
  parts.metrics = profile.metrics();
  for (Metric& metric : parts.metrics) metric.values = nullptr;
  parts.warnings = profile.warnings();
  return Profile(std::move(parts));
}

}  // namespace fbleprof::transform
