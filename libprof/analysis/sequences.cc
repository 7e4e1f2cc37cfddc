#include "analysis/sequences.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/costs.h"
#include "analysis/sampled.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// Rows by the other function; the cost of a nested node is already in the outer node's figure.
class Rows {
 public:
  PairRow& row(FunctionId other, bool is_tail) {
    const auto [it, added] =
        index_.try_emplace(std::uint64_t{other.index()} << 1 | (is_tail ? 1 : 0), rows.size());
    if (added) {
      rows.push_back({});
      rows.back().is_tail = is_tail;
      until_.push_back(0);
    }
    return rows[it->second];
  }
  // `counts`: the key's outer node ends before `node`.
  bool is_outermost(FunctionId other, std::uint32_t node, std::uint32_t end) {
    row(other, false);
    std::uint32_t& until = until_[index_.at(std::uint64_t{other.index()} << 1)];
    if (node < until) return false;
    until = end;
    return true;
  }
  void mark_as_about(FunctionId other) {
    for (const std::uint64_t is_tail : {0, 1}) {
      const auto it = index_.find(std::uint64_t{other.index()} << 1 | is_tail);
      if (it != index_.end()) rows[it->second].calls_are_about = true;
    }
  }
  std::vector<PairRow> take() {
    for (PairRow& row : rows) row.is_sampled &= row.calls == 0;
    std::stable_sort(rows.begin(), rows.end(), [](const PairRow& a, const PairRow& b) {
      if (a.is_tail != b.is_tail) return b.is_tail;
      if (a.cost != b.cost) return a.cost > b.cost;
      return a.calls > b.calls;
    });
    return std::move(rows);
  }

  std::vector<PairRow> rows;

 private:
  std::unordered_map<std::uint64_t, std::size_t> index_;
  std::vector<std::uint32_t> until_;
};

}  // namespace

Sequence sequence(const Costs& costs, const std::vector<std::vector<std::uint8_t>>& matches) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::size_t length = matches.size();
  Sequence result;
  result.steps.resize(length);
  if (length == 0) return result;
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  const std::vector<std::uint8_t>& is_bound = costs.is_bound();

  // By function: bit i = it can be number i of the sequence. By node: bit i = its path ends in the
  // first i+1.
  std::vector<std::uint64_t> can_be(profile.functions().count());
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t f = 0; f < can_be.size(); ++f) {
      if (matches[i][f] != 0) can_be[f] |= std::uint64_t{1} << i;
    }
  }
  const auto hits = [&](NodeId node) { return can_be[nodes.function[node.index()].index()]; };
  std::vector<std::uint64_t> ends(nodes.count());
  std::vector<std::uint32_t> until(length);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!nodes.parent[n]) continue;
    ends[n] = ((ends[nodes.parent[n].index()] << 1) | 1) & hits(NodeId(n));
    for (std::size_t i = 0; i < length; ++i) {
      if ((ends[n] >> i & 1) == 0 || n < until[i]) continue;
      until[i] = nodes.subtree_end[n];
      costs.add(result.steps[i].cost, cost[n]);
      result.steps[i].cost_is_bound |= is_bound[n] != 0;
    }
  }

  // The function that calls the first of the sequence, if function number `step` (from 0) is at
  // `node`.
  const auto origin = [&](NodeId node, std::size_t step) {
    for (std::size_t i = 0; i <= step; ++i) node = nodes.parent[node.index()];
    return nodes.function[node.index()];
  };
  const std::uint64_t last = std::uint64_t{1} << (length - 1);
  Rows in, out;
  for (std::uint32_t n = 0; n < nodes.count(); ++n) {
    if (nodes.parent[n] && (ends[nodes.parent[n].index()] & last) != 0) {
      const FunctionId callee = nodes.function[n];
      PairRow& row = out.row(callee, false);
      row.callee = callee;
      if (out.is_outermost(callee, n, nodes.subtree_end[n])) {
        costs.add(row.cost, cost[n]);
        row.cost_is_bound |= is_bound[n] != 0;
      }
    }
    if ((ends[n] & last) == 0) continue;
    costs.add(result.self, costs.own(NodeId(n)));
    const FunctionId caller = origin(NodeId(n), length - 1);
    const bool outermost = in.is_outermost(caller, n, nodes.subtree_end[n]);
    PairRow& row = in.row(caller, false);
    row.caller = caller;
    if (outermost) {
      costs.add(row.cost, cost[n]);
      row.cost_is_bound |= is_bound[n] != 0;
    }
    if (result.contexts.empty() || n >= nodes.subtree_end[result.contexts.back().index()]) {
      result.contexts.push_back(NodeId(n));
    }
  }
  std::stable_sort(result.contexts.begin(), result.contexts.end(),
                   [&](NodeId a, NodeId b) { return cost[a.index()] > cost[b.index()]; });

  for (std::size_t e = 0; e < edges.count(); ++e) {
    const NodeId from = edges.from[e], to = edges.to[e];
    const bool is_tail = edges.kind[e] == EdgeKind::kTail;
    const bool only_sampled = is_sampled(profile, EdgeId(static_cast<std::uint32_t>(e)));
    const std::uint64_t before = ends[from.index()];
    // The entries that the call completes: the first function alone, the others after their
    // predecessors.
    const std::uint64_t completes = ((before << 1) | 1) & hits(to);
    for (std::size_t i = 0; i < length; ++i) {
      if ((completes >> i & 1) == 0) continue;
      // For a single function all entries count, as in the tables.
      (is_tail && i != 0 ? result.steps[i].tail_calls : result.steps[i].calls) += edges.calls[e];
      result.steps[i].is_sampled |= only_sampled;
    }
    if (edges.kind[e] == EdgeKind::kBack) {
      for (std::size_t i = 1; i < length; ++i) {
        const bool comes_from_it = (completes >> i & 1) != 0,
                   is_it = (ends[to.index()] >> i & 1) != 0;
        // The rest of the path is charged to a context that looks different.
        if (comes_from_it && !is_it) {
          for (std::size_t k = i; k < length; ++k) result.steps[k].cost_is_bound = true;
        }
        if (comes_from_it != is_it) {
          for (std::size_t k = i + 1; k < length; ++k) result.steps[k].calls_are_about = true;
        }
      }
    }
    if ((completes & last) != 0) {
      const FunctionId caller =
          length == 1 ? nodes.function[from.index()] : origin(from, length - 2);
      PairRow& row = in.row(caller, is_tail);
      row.caller = caller;
      row.calls += edges.calls[e];
      row.is_sampled |= only_sampled;
    }
    if ((before & last) != 0) {
      const FunctionId callee = nodes.function[to.index()];
      PairRow& row = out.row(callee, is_tail);
      row.callee = callee;
      row.calls += edges.calls[e];
      row.is_sampled |= only_sampled;
      row.by_tail_call |= (edges.flags[e] & format::kEdgeByTailCall) != 0;
    }
  }

  // By node: bit i = number i of a sequence that is complete.
  std::vector<std::uint64_t> is_part(nodes.count());
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if ((((ends[edges.from[e].index()] << 1) | 1) & hits(edges.to[e]) & last) == 0) continue;
    NodeId node = edges.from[e];
    for (std::size_t i = length - 1; i-- > 0; node = nodes.parent[node.index()]) {
      is_part[node.index()] |= std::uint64_t{1} << i;
    }
  }
  // A back edge into a part brings calls of another origin than the part's own path.
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const NodeId from = edges.from[e], to = edges.to[e];
    if (edges.kind[e] != EdgeKind::kBack || is_part[to.index()] == 0) continue;
    const std::uint64_t completes = ((ends[from.index()] << 1) | 1) & hits(to);
    for (std::size_t i = 0; i + 1 < length; ++i) {
      if ((is_part[to.index()] >> i & 1) == 0) continue;
      const FunctionId by_tree = origin(to, i);
      FunctionId by_back;
      if ((completes >> i & 1) != 0) {
        by_back = i == 0 ? nodes.function[from.index()] : origin(from, i - 1);
      }
      if (by_tree == by_back) continue;
      in.mark_as_about(by_tree);
      if (by_back) in.mark_as_about(by_back);
    }
  }

  for (SequenceStep& step : result.steps) step.is_sampled &= step.calls == 0;
  result.in = in.take();
  result.out = out.take();
  return result;
}

}  // namespace fbleprof::analysis
