#include "analysis/visible_tree.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace fbleprof::analysis {

using namespace profile;

namespace {

// A context of a group, and its contribution to the group's cost.
struct Member {
  std::uint32_t node;
  std::uint64_t weight;
};
using Members = std::vector<Member>;

class Opener {
 public:
  Opener(const Costs& costs, const VisibleLimit& limit, bool down, const Diff* diff)
      : costs_(costs),
        nodes_(costs.profile().nodes()),
        limit_(limit),
        down_(down),
        diff_(diff),
        marks_(nodes_.count()) {
    const Edges& edges = costs.profile().edges();
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] == EdgeKind::kBack) marks_[edges.from[e].index()] |= kRecurses;
      if (edges.kind[e] == EdgeKind::kTree && (edges.flags[e] & format::kEdgeByTailCall) != 0) {
        marks_[edges.to[e].index()] |= kByTailCall;
      }
    }
  }

  std::vector<VisibleNode> open(Members first, bool by_function) {
    const FunctionId function =
        first.empty() || by_function ? root_function() : nodes_.function[first.front().node];
    add(0, function, std::move(first), by_function);
    if (by_function) {
      deal_out(0, members_[0], [&](std::uint32_t n) { return n; });
    } else {
      queue_.push({shown_[0].cost, 0});
    }
    while (!queue_.empty()) {
      const std::uint32_t next = queue_.top().second;
      queue_.pop();
      const Members members = std::move(members_[next]);
      if (down_) {
        open_callees(next, members);
      } else {
        deal_out(next, members, [&](std::uint32_t n) { return nodes_.parent[n].index(); });
      }
    }
    return std::move(shown_);
  }

 private:
  static constexpr std::uint8_t kRecurses = 1, kByTailCall = 2;

  FunctionId root_function() const {
    return nodes_.count() == 0 ? FunctionId() : nodes_.function[0];
  }

  void add(std::uint32_t parent, FunctionId function, Members members, bool is_top) {
    VisibleNode& node = shown_.emplace_back();
    node.parent = parent;
    node.function = function;
    if (!members.empty()) node.context = NodeId(is_top ? 0 : members.front().node);
    node.contexts = static_cast<std::uint32_t>(members.size());
    node.by_tail_call = !members.empty() && !is_top;
    for (const Member& member : members) {
      costs_.add(node.cost, member.weight);
      if (is_top) continue;
      node.is_bound |= costs_.is_bound()[member.node] != 0;
      node.recurses |= (marks_[member.node] & kRecurses) != 0;
      node.by_tail_call &= (marks_[member.node] & kByTailCall) != 0;
      if (diff_ != nullptr) add_change(diff_->inclusive[member.node], node.change);
      if (!down_) continue;
      costs_.add(node.own, costs_.own(NodeId(member.node)));
      node.calls += costs_.calls(NodeId(member.node));
    }
    if (diff_ != nullptr && members.size() > 1) {
      node.change.is_noise = is_noise(diff_->noise, node.change, {}, {});
    }
    members_.push_back(std::move(members));
  }

  // Of one context, the sum is its own change.
  void add_change(const Change& change, Change& sum) const {
    costs_.add(sum.base, change.base);
    costs_.add(sum.now, change.now);
    sum.base_samples += change.base_samples;
    sum.now_samples += change.now_samples;
    sum.is_noise = change.is_noise;
  }

  void open_callees(std::uint32_t at, const Members& members) {
    Members below;
    for (const Member& member : members) {
      for (std::uint32_t c = member.node + 1; c < nodes_.subtree_end[member.node];
           c = nodes_.subtree_end[c]) {
        below.push_back({c, costs_.inclusive()[c]});
      }
    }
    deal_out(at, below, [](std::uint32_t n) { return n; });
  }

  // Groups by the function of the node that each member moves to; the root is no caller.
  template <class Next>
  void deal_out(std::uint32_t at, const Members& members, Next next) {
    std::unordered_map<std::uint32_t, std::size_t> place;
    std::vector<Members> groups;
    std::vector<std::uint64_t> weights;
    for (const Member& member : members) {
      if (!down_ && !nodes_.parent[member.node]) continue;
      const std::uint32_t to = next(member.node);
      if (!down_ && !nodes_.parent[to]) continue;
      const auto [it, is_new] = place.try_emplace(nodes_.function[to].index(), groups.size());
      if (is_new) {
        groups.emplace_back();
        weights.push_back(0);
      }
      groups[it->second].push_back({to, member.weight});
      costs_.add(weights[it->second],
                 member.weight + (diff_ != nullptr ? diff_->inclusive[to].base : 0));
    }
    std::vector<std::uint32_t> order(groups.size());
    for (std::uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weights[a] > weights[b]; });
    for (const std::uint32_t g : order) {
      if (shown_.size() >= limit_.nodes || weights[g] < limit_.least_cost) {
        ++shown_[at].hidden;
        costs_.add(shown_[at].hidden_cost, weights[g]);
        continue;
      }
      const FunctionId function = nodes_.function[groups[g].front().node];
      add(at, function, std::move(groups[g]), false);
      queue_.push({weights[g], static_cast<std::uint32_t>(shown_.size() - 1)});
    }
  }

  const Costs& costs_;
  const Nodes& nodes_;
  const VisibleLimit limit_;
  const bool down_;
  const Diff* diff_;
  std::vector<std::uint8_t> marks_;  // by node
  std::vector<VisibleNode> shown_;
  std::vector<Members> members_;  // by shown node
  std::priority_queue<std::pair<std::uint64_t, std::uint32_t>> queue_;
};

Members with_all_below(const Costs& costs, const std::vector<NodeId>& contexts) {
  Members members;
  for (const NodeId node : contexts)
    members.push_back({node.index(), costs.inclusive()[node.index()]});
  return members;
}

}  // namespace

std::vector<VisibleNode> visible_callees(const Costs& costs, const std::vector<NodeId>& from,
                                         const VisibleLimit& limit, const Diff* diff) {
  return Opener(costs, limit, true, diff).open(with_all_below(costs, from), false);
}

std::vector<VisibleNode> visible_callers(const Costs& costs, const std::vector<NodeId>& of,
                                         const VisibleLimit& limit) {
  return Opener(costs, limit, false, nullptr).open(with_all_below(costs, of), false);
}

std::vector<VisibleNode> visible_inverted(const Costs& costs, const VisibleLimit& limit) {
  Members members;
  const std::size_t count = costs.profile().nodes().count();
  for (std::uint32_t n = 0; n < count; ++n) {
    if (const std::uint64_t own = costs.own(NodeId(n)); own != 0) members.push_back({n, own});
  }
  return Opener(costs, limit, false, nullptr).open(std::move(members), true);
}

}  // namespace fbleprof::analysis
