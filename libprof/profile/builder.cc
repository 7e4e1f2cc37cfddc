#include "profile/builder.h"

#include <algorithm>

#include "profile/fit_sums.h"
#include "profile/metric_roles.h"

namespace fbleprof::profile {
namespace {

constexpr std::uint32_t kNoEdge = 0xffffffffu;

std::uint64_t pair_key(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

std::uint64_t name_key(StringId name, FunctionKind kind) {
  return std::uint64_t{name.index()} << 16 | static_cast<std::uint16_t>(kind);
}

}  // namespace

ProfileBuilder::ProfileBuilder() : ProfileBuilder(Profile()) {}

ProfileBuilder::ProfileBuilder(const Profile& base)
    : strings_(base.strings()),
      processes_(base.processes()),
      threads_(base.threads()),
      modules_(base.modules()),
      functions_(base.functions()),
      sites_(base.sites()),
      label_sets_(base.label_sets()) {
  parts_.warnings = base.warnings();
  for (std::size_t f = 0; f < functions_.count(); ++f) {
    if (functions_.module[f] || functions_.address[f] != 0 || !functions_.name[f]) continue;
    named_.insert(name_key(functions_.name[f], functions_.kind[f]), static_cast<std::uint32_t>(f));
  }
  parts_.groups = base.parts().groups;
  parts_.sites_apart = base.sites_apart();
  for (const Metric& metric : base.metrics()) add_metric(metric);
}

ProcessId ProfileBuilder::add_process(Process process) {
  processes_.push_back(std::move(process));
  return ProcessId(processes_.size() - 1);
}

ThreadId ProfileBuilder::add_thread(Thread thread) {
  threads_.push_back(std::move(thread));
  return ThreadId(threads_.size() - 1);
}

ModuleId ProfileBuilder::add_module(Module module) {
  modules_.push_back(std::move(module));
  return ModuleId(modules_.size() - 1);
}

SiteId ProfileBuilder::site(ModuleId module, std::uint64_t address) {
  // Addresses leave the high bits free. A collision there would only store one place twice.
  const std::uint64_t key = address ^ std::uint64_t{module.index() + 1} << 44;
  const auto [value, added] = site_index_.insert(key, static_cast<std::uint32_t>(sites_.count()));
  if (!added && sites_.module[value] == module && sites_.address[value] == address) {
    return SiteId(value);
  }
  sites_.module.push_back(module);
  sites_.address.push_back(address);
  sites_.file.push_back({});
  sites_.line.push_back(0);
  return SiteId(sites_.count() - 1);
}

FunctionId ProfileBuilder::add_function(const FunctionKey& key) { return functions_.add(key); }

FunctionId ProfileBuilder::named_function(std::string_view name, FunctionKind kind) {
  const StringId id = string(name);
  const auto [value, added] =
      named_.insert(name_key(id, kind), static_cast<std::uint32_t>(functions_.count()));
  if (added) add_function({.kind = kind, .name = id});
  return FunctionId(value);
}

MetricId ProfileBuilder::add_metric(const Metric& like) {
  metrics_.push_back(like);
  metrics_.back().values = nullptr;
  values_.emplace_back();
  return MetricId(metrics_.size() - 1);
}

MetricId ProfileBuilder::add_metric(std::string_view name, std::string_view unit, Role role,
                                    Aggregation aggregation) {
  return add_metric(Metric{.name = std::string(name),
                           .unit = std::string(unit),
                           .aggregation = aggregation,
                           .role = role});
}

MetricId ProfileBuilder::add_metric(std::string_view name, std::string_view unit,
                                    Aggregation aggregation) {
  return add_metric(name, unit, role_for_name(name, unit), aggregation);
}

LabelSetId ProfileBuilder::add_label_set(LabelSet labels) {
  label_sets_.push_back(std::move(labels));
  return LabelSetId(label_sets_.size() - 1);
}

NodeId ProfileBuilder::add_tree(FunctionId root, ProcessId process, ThreadId thread,
                                LabelSetId labels) {
  nodes_.push_back({NodeId(), root, kNoEdge});
  const NodeId node(nodes_.size() - 1);
  trees_.push_back({.begin = node, .process = process, .thread = thread, .labels = labels});
  return node;
}

std::pair<std::uint32_t, bool> ProfileBuilder::Ways::insert(std::uint32_t from, std::uint32_t to,
                                                            SiteId site, std::uint32_t value) {
  if (!site) return ways_.insert(pair_key(from, to), value);
  const auto next = static_cast<std::uint32_t>(targets_.size());
  const std::uint32_t target = targets_.insert(pair_key(to, site.index()), next).first;
  return from_sites_.insert(pair_key(from, target), value);
}

NodeId ProfileBuilder::child(NodeId parent, FunctionId function, SiteId site) {
  const auto [value, added] = children_.insert(parent.index(), function.index(), site,
                                               static_cast<std::uint32_t>(nodes_.size()));
  const NodeId node(value);
  if (added) {
    nodes_.push_back({parent, function, static_cast<std::uint32_t>(edges_.size())});
    edges_.push_back({parent, node, EdgeKind::kTree, 0, 0, site});
  }
  return node;
}

void ProfileBuilder::add_edge(NodeId from, NodeId to, EdgeKind kind, std::uint64_t calls,
                              std::uint8_t flags, SiteId site) {
  std::uint32_t index;
  if (kind == EdgeKind::kTree) {
    index = nodes_[to.index()].tree_edge;
  } else {
    auto& known = kind == EdgeKind::kBack ? back_edges_ : tail_edges_;
    const auto [value, added] =
        known.insert(from.index(), to.index(), site, static_cast<std::uint32_t>(edges_.size()));
    if (added) edges_.push_back({from, to, kind, 0, 0, site});
    index = value;
  }
  NewEdge& edge = edges_[index];
  if (calls > kLargestCount - edge.calls) cut_.insert("calls");
  edge.calls = capped_sum(edge.calls, calls);
  edge.flags |= flags;
  if (!edge.site) edge.site = site;
}

void ProfileBuilder::charge(NodeId node, MetricId metric, std::uint64_t value) {
  Counts& column = values_[metric.index()];
  if (column.size() <= node.index()) column.resize(nodes_.size());
  const std::uint64_t held = column[node.index()];
  switch (metrics_[metric.index()].aggregation) {
    case Aggregation::kSum:
      if (metrics_[metric.index()].is_signed) {
        column.add_signed(node.index(), value);
        break;
      }
      if (value > kLargestCount - held) cut_.insert(metrics_[metric.index()].name);
      column.add(node.index(), value);
      break;
    case Aggregation::kMax:
      column.set(node.index(), std::max(held, value));
      break;
    case Aggregation::kLast:
      column.set(node.index(), value);
      break;
  }
}

// Fills `out` and returns the new place of each builder id.
std::vector<std::uint32_t> ProfileBuilder::renumber(Nodes& out) const {
  const std::size_t count = nodes_.size();
  // Parents have smaller ids, so one backward pass gives subtree sizes, and one forward pass
  // positions: a node takes the next free place of its parent and reserves room for all below it.
  std::vector<std::uint32_t> size(count, 1), place(count), next_child(count);
  for (std::size_t i = count; i-- > 0;) {
    if (nodes_[i].parent) size[nodes_[i].parent.index()] += size[i];
  }
  std::uint32_t next_root = 0;
  out.parent.resize(count);
  out.function.resize(count);
  out.depth.resize(count);
  out.subtree_end.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId parent = nodes_[i].parent;
    std::uint32_t& next = parent ? next_child[parent.index()] : next_root;
    const std::uint32_t at = place[i] = next;
    next += size[i];
    next_child[i] = at + 1;
    out.parent[at] = parent ? NodeId(place[parent.index()]) : NodeId();
    out.function[at] = nodes_[i].function;
    out.depth[at] = parent ? out.depth[place[parent.index()]] + 1 : 0;
    out.subtree_end[at] = at + size[i];
  }
  return place;
}

Profile ProfileBuilder::build() {
  auto nodes = std::make_shared<Nodes>();
  const std::vector<std::uint32_t> place = renumber(*nodes);
  for (Tree& tree : trees_) {
    tree.begin = NodeId(place[tree.begin.index()]);
    tree.end = NodeId(nodes->subtree_end[tree.begin.index()]);
  }

  auto edges = std::make_shared<Edges>();
  Counts calls(nodes_.size());
  bool any_calls = false;
  for (const NewEdge& edge : edges_) {
    edges->from.push_back(NodeId(place[edge.from.index()]));
    edges->to.push_back(NodeId(place[edge.to.index()]));
    edges->kind.push_back(edge.kind);
    edges->flags.push_back(edge.flags);
    edges->calls.push_back(edge.calls);
    edges->site.push_back(edge.site);
    calls.add(place[edge.to.index()], edge.calls);
    any_calls |= edge.calls != 0;
  }

  const auto is_calls = [](const Metric& metric) {
    return metric.role == Role::kCalls && !metric.is_baseline;
  };
  if (any_calls && std::none_of(metrics_.begin(), metrics_.end(), is_calls)) {
    add_metric("calls", "count", Role::kCalls);
  }
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    if (is_calls(metrics_[m])) {
      metrics_[m].values = std::make_shared<Counts>(calls);
      continue;
    }
    if (values_[m].empty()) continue;
    auto column = std::make_shared<Counts>(nodes_.size());
    values_[m].each([&](std::size_t i, std::uint64_t value) { column->set(place[i], value); });
    metrics_[m].values = std::move(column);
  }

  parts_.strings = std::make_shared<Strings>(strings_.take());
  parts_.processes = std::make_shared<std::vector<Process>>(std::move(processes_));
  parts_.threads = std::make_shared<std::vector<Thread>>(std::move(threads_));
  parts_.modules = std::make_shared<std::vector<Module>>(std::move(modules_));
  parts_.functions = std::make_shared<Functions>(std::move(functions_));
  parts_.sites = std::make_shared<Sites>(std::move(sites_));
  parts_.trees = std::make_shared<std::vector<Tree>>(std::move(trees_));
  parts_.label_sets = std::make_shared<std::vector<LabelSet>>(std::move(label_sets_));
  parts_.nodes = std::move(nodes);
  parts_.edges = std::move(edges);
  parts_.metrics = std::move(metrics_);
  const bool has_file = !parts_.processes->empty();
  fit_sums(parts_, std::string(has_file ? parts_.strings->get(parts_.processes->front().file) : ""),
           cut_);
  return Profile(std::move(parts_));
}

}  // namespace fbleprof::profile
