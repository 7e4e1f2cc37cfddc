#include "transform/idle.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace fbleprof::transform {

using namespace profile;

namespace {

// What moves to [idle] with the time: all metrics of waits.
bool is_of_waits(Role role) {
  switch (role) {
    case Role::kWaitTime:
    case Role::kWaits:
    case Role::kLongestWait:
    case Role::kWaitClass:
    case Role::kEventWait:
    case Role::kPeerWait:
      return true;
    default:
      return false;
  }
}

// The waits of one call: of its own node, and of those below that tell who ended them.
struct Call {
  std::uint64_t waited = 0, for_events = 0, for_peers = 0;

  // A function that makes several calls itself (--no-native-below) has waits of both kinds.
  bool is_idle(std::uint64_t elapsed) const {
    return for_events == waited || (for_peers == waited && waited >= elapsed / 2);
  }
};

// The node of the call that a node's waits belong to.
NodeId call_of(const Profile& profile, NodeId node) {
  const Nodes& nodes = profile.nodes();
  const auto& flags = profile.functions().flags;
  while (nodes.parent[node.index()] &&
         (flags[nodes.function[node.index()].index()] & format::kFunctionStandIn) != 0) {
    node = nodes.parent[node.index()];
  }
  return node;
}

std::vector<NodeId> idle_nodes(const Profile& profile) {
  std::vector<NodeId> idle;
  const Metric *wait = profile.find_metric(Role::kWaitTime),
               *wall = profile.find_metric(Role::kWallTime),
               *events = profile.find_metric(Role::kEventWait),
               *peers = profile.find_metric(Role::kPeerWait);
  if (wait == nullptr || wall == nullptr || events == nullptr || peers == nullptr) return idle;
  if (!wait->values) return idle;
  for (const Tree& tree : profile.trees()) {
    std::uint64_t elapsed = 0;
    std::map<NodeId, Call> calls;
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      const NodeId node(n);
      elapsed = capped_sum(elapsed, wall->value(node));
      if (wait->value(node) == 0) continue;
      Call& call = calls[call_of(profile, node)];
      call.waited = capped_sum(call.waited, wait->value(node));
      call.for_events = capped_sum(call.for_events, events->value(node));
      call.for_peers = capped_sum(call.for_peers, peers->value(node));
    }
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      const NodeId node(n);
      if (wait->value(node) == 0) continue;
      if (calls[call_of(profile, node)].is_idle(elapsed)) idle.push_back(node);
    }
  }
  return idle;
}

// Adds a child below each of some nodes, as its first.
class Insertion {
 public:
  Insertion(const Profile& profile, std::vector<NodeId> above)
      : profile_(profile), above_(std::move(above)), place_(profile.nodes().count() + 1) {
    std::sort(above_.begin(), above_.end());
    std::uint32_t added = 0;
    for (std::size_t n = 0; n < place_.size(); ++n) {
      place_[n] = static_cast<std::uint32_t>(n) + added;
      if (added < above_.size() && above_[added].index() == n) ++added;
    }
  }

  std::shared_ptr<const Nodes> nodes(FunctionId function) const {
    const Nodes& from = profile_.nodes();
    auto to = std::make_shared<Nodes>();
    std::size_t next = 0;
    const auto add = [&](NodeId parent, FunctionId what, std::uint32_t depth, std::uint32_t end) {
      to->parent.push_back(parent);
      to->function.push_back(what);
      to->depth.push_back(depth);
      to->subtree_end.push_back(end);
    };
    for (std::size_t n = 0; n < from.count(); ++n) {
      const NodeId parent = from.parent[n] ? moved(from.parent[n]) : NodeId();
      add(parent, from.function[n], from.depth[n], end_of(from.subtree_end[n]));
      if (next == above_.size() || above_[next].index() != n) continue;
      ++next;
      add(NodeId(place_[n]), function, from.depth[n] + 1, place_[n] + 2);
    }
    return to;
  }

  std::shared_ptr<const Edges> edges() const {
    auto to = std::make_shared<Edges>(profile_.edges());
    for (NodeId& node : to->from) node = moved(node);
    for (NodeId& node : to->to) node = moved(node);
    for (const NodeId node : above_) {
      to->from.push_back(moved(node));
      to->to.push_back(below(node));
      to->kind.push_back(EdgeKind::kTree);
      to->flags.push_back(format::kEdgeSampled);
      to->calls.push_back(0);
      to->site.push_back(SiteId());
    }
    return to;
  }

  std::shared_ptr<const std::vector<Tree>> trees() const {
    auto to = std::make_shared<std::vector<Tree>>(profile_.trees());
    for (Tree& tree : *to) {
      tree.begin = moved(tree.begin);
      tree.end = NodeId(end_of(static_cast<std::uint32_t>(tree.end.index())));
    }
    return to;
  }

  // The waits of a node go to the child below it.
  std::shared_ptr<const Counts> values(const Metric& metric, const Metric& wait) const {
    if (!metric.values) return nullptr;
    auto to = std::make_shared<Counts>(profile_.nodes().count() + above_.size());
    metric.values->each([&](std::size_t n, std::uint64_t value) { to->set(place_[n], value); });
    for (const NodeId node : above_) {
      const std::uint64_t value = metric.value(node);
      const std::uint64_t moving = is_of_waits(metric.role) ? value
                                   : metric.role == Role::kWallTime
                                       ? std::min(value, wait.value(node))
                                       : 0;
      to->set(moved(node).index(), value - moving);
      to->set(below(node).index(), moving);
    }
    return to;
  }

 private:
  NodeId moved(NodeId node) const { return NodeId(place_[node.index()]); }
  NodeId below(NodeId node) const { return NodeId(place_[node.index()] + 1); }
  // The node after the last one of a range, at its new place.
  std::uint32_t end_of(std::uint32_t end) const { return place_[end]; }

  const Profile& profile_;
  std::vector<NodeId> above_;
  std::vector<std::uint32_t> place_;  // by node, and of the end: where it is in the result
};

}  // namespace

Profile with_idle_apart(const Profile& profile) {
  std::vector<NodeId> idle = idle_nodes(profile);
  if (idle.empty()) return profile;
  const Insertion insertion(profile, std::move(idle));
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  const FunctionId function =
      functions->add({.kind = FunctionKind::kBlock, .name = strings.intern(kIdle)});
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  parts.nodes = insertion.nodes(function);
  parts.edges = insertion.edges();
  parts.trees = insertion.trees();
  const Metric wait = *profile.find_metric(Role::kWaitTime);
  for (Metric& metric : parts.metrics) metric.values = insertion.values(metric, wait);
  return Profile(std::move(parts));
}

bool has_idle(const Profile& profile) {
  const Functions& functions = profile.functions();
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] == FunctionKind::kBlock && profile.text(functions.name[f]) == kIdle) {
      return true;
    }
  }
  return false;
}

}  // namespace fbleprof::transform
