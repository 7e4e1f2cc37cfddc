#include "analysis/cliques.h"

#include <algorithm>

#include "analysis/components.h"
#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "base/at_once.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// Each caller -> callee once. The root calls nobody.
std::vector<std::pair<std::uint32_t, std::uint32_t>> call_graph(const Profile& profile,
                                                                const PairIndex& pairs) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  std::vector<std::uint8_t> is_call(pairs.count());
  const auto mark = [&](NodeId from, NodeId to, std::uint32_t pair) {
    if (nodes.parent[from.index()] && nodes.parent[to.index()]) is_call[pair] = 1;
  };
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (nodes.parent[n]) mark(nodes.parent[n], NodeId(n), pairs.of_node(n));
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    mark(edges.from[e], edges.to[e], pairs.of_edges()[e]);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> calls;
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    if (is_call[p] != 0) calls.emplace_back(pairs.caller(p).index(), pairs.callee(p).index());
  }
  return calls;
}

class Finder {
 public:
  Finder(const Costs& costs, const PairIndex& pairs)
      : profile_(costs.profile()),
        pairs_(pairs),
        nodes_(profile_.nodes()),
        edges_(profile_.edges()),
        metric_(costs.metric()),
        cost_(costs.inclusive()) {}

  Cliques run() {
    group();
    at_once(nodes_.count(), {[&] { count_calls(); }, [&] { charge(); }});
    add_up();
    for (Clique& clique : result_.cliques) classify(clique);
    sort();
    return std::move(result_);
  }

 private:
  std::uint32_t clique_at(std::size_t node) const {
    return nodes_.parent[node] ? result_.of[nodes_.function[node].index()] : kNoClique;
  }
  CliqueMember& member_at(std::size_t node) { return member_[nodes_.function[node].index()]; }

  void group() {
    const auto pairs = call_graph(profile_, pairs_);
    const auto component = components(profile_.functions().count(), pairs);
    result_.of.assign(component.size(), kNoClique);
    member_.resize(component.size());
    std::vector<std::uint32_t> clique_of(component.size(), kNoClique);  // by component
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const FunctionId function = nodes_.function[n];
      if (!nodes_.parent[n] || result_.of[function.index()] != kNoClique) continue;
      std::uint32_t& clique = clique_of[component[function.index()]];
      if (clique == kNoClique) {
        clique = static_cast<std::uint32_t>(result_.cliques.size());
        result_.cliques.emplace_back();
      }
      result_.of[function.index()] = clique;
      result_.cliques[clique].members.push_back({.function = function});
    }
    for (const auto& [caller, callee] : pairs) {
      if (caller == callee) result_.cliques[result_.of[caller]].recursion = Recursion::kSelf;
    }
    for (Clique& clique : result_.cliques) {
      if (clique.members.size() > 1) clique.recursion = Recursion::kMutual;
    }
  }

  // Writes other fields of members and cliques than count_calls().
  void charge() {
    std::vector<std::uint32_t> depth(nodes_.count()), deepest(result_.cliques.size());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const std::uint32_t own = clique_at(n);
      if (own == kNoClique) continue;
      const std::size_t parent = nodes_.parent[n].index();
      const std::uint32_t outer = clique_at(parent);
      CliqueMember& member = member_at(n);
      member.self += metric_.value(NodeId(n));
      if (outer == own) {
        depth[n] = depth[parent] + 1;
      } else {
        depth[n] = 1;
        member.entry_cost += cost_[n];
        if (outer != kNoClique) member_at(parent).children += cost_[n];
      }
      deepest[own] = std::max(deepest[own], depth[n]);
    }
    for (std::size_t c = 0; c < deepest.size(); ++c) result_.cliques[c].depth = deepest[c];
  }

  void count_calls() {
    for (std::size_t e = 0; e < edges_.count(); ++e) {
      const std::size_t from = edges_.from[e].index(), to = edges_.to[e].index();
      const std::uint32_t own = clique_at(to);
      if (own == kNoClique) continue;
      if (clique_at(from) == own) {
        member_at(to).inside_calls += edges_.calls[e];
        if (edges_.kind[e] == EdgeKind::kBack) result_.cliques[own].depth_is_bound = true;
      } else {
        member_at(to).entries += edges_.calls[e];
      }
    }
  }

  void add_up() {
    for (Clique& clique : result_.cliques) {
      for (CliqueMember& member : clique.members) {
        const FunctionId function = member.function;
        member = member_[function.index()];
        member.function = function;
        clique.self += member.self;
        clique.cost += member.entry_cost;
        clique.entries += member.entries;
        clique.inside_calls += member.inside_calls;
      }
    }
  }

  // Whether a function that calls itself does so once per call or more often. Judged by the
  // outermost call of each context, since deeper ones are folded into one.
  void classify(Clique& clique) {
    if (clique.recursion != Recursion::kSelf || clique.entries == 0) return;
    clique.recursion = Recursion::kSingle;
    if (entered_.empty()) count_entered();
    const FunctionId function = clique.members[0].function;
    if (branches_[function.index()] != 0) {
      clique.recursion = Recursion::kSeveral;
    } else if (clique.depth_is_bound) {
      // Each call goes one level deeper: the depth if calls are spread evenly over the entries.
      const std::uint64_t mean = 1 + clique.inside_calls / clique.entries +
                                 (clique.inside_calls % clique.entries != 0 ? 1 : 0);
      clique.depth = std::max(clique.depth, mean);
    }
  }

  void count_entered() {
    entered_.resize(nodes_.count());
    branches_.resize(profile_.functions().count());
    std::vector<std::uint64_t> recursive(nodes_.count());
    std::vector<std::uint8_t> folded(nodes_.count());
    for (std::size_t e = 0; e < edges_.count(); ++e) {
      const std::size_t from = edges_.from[e].index(), to = edges_.to[e].index();
      if (nodes_.function[from] == nodes_.function[to]) {
        recursive[from] += edges_.calls[e];
        folded[from] |= from == to;
      } else {
        entered_[to] += edges_.calls[e];
      }
    }
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      if (!nodes_.parent[n]) continue;
      const bool outermost = nodes_.function[nodes_.parent[n].index()] != nodes_.function[n];
      if (outermost && folded[n] == 0 && recursive[n] > entered_[n]) {
        branches_[nodes_.function[n].index()] = 1;
      }
    }
  }

  void sort() {
    for (Clique& clique : result_.cliques) {
      std::stable_sort(clique.members.begin(), clique.members.end(),
                       [](const CliqueMember& a, const CliqueMember& b) {
                         return a.self + a.children > b.self + b.children;
                       });
    }
    std::stable_sort(result_.cliques.begin(), result_.cliques.end(),
                     [](const Clique& a, const Clique& b) { return a.cost > b.cost; });
    for (std::uint32_t c = 0; c < result_.cliques.size(); ++c) {
      for (const CliqueMember& member : result_.cliques[c].members) {
        result_.of[member.function.index()] = c;
      }
    }
  }

  const Profile& profile_;
  const PairIndex& pairs_;
  const Nodes& nodes_;
  const Edges& edges_;
  const Metric& metric_;
  const std::vector<std::uint64_t>& cost_;
  Cliques result_;
  std::vector<CliqueMember> member_;    // by function: in one array, as millions of steps read it
  std::vector<std::uint64_t> entered_;  // by node: calls that are no recursion of its own
  std::vector<std::uint8_t> branches_;  // by function
};

}  // namespace

Cliques find_cliques(const Costs& costs) { return find_cliques(costs, PairIndex(costs.profile())); }

Cliques find_cliques(const Costs& costs, const PairIndex& pairs) {
  return Finder(costs, pairs).run();
}

namespace {

constexpr std::uint32_t kNoRow = 0xffffffffu;

// By node: its chain of cliques, out of those added to `chains`.
std::vector<std::uint32_t> chains_of_nodes(const Profile& profile, const Cliques& cliques,
                                           std::vector<CliqueContexts::Chain>& chains) {
  const Nodes& nodes = profile.nodes();
  FlatMap index;
  const auto is_alone = [&](std::uint32_t clique) {
    return cliques.cliques[clique].recursion == Recursion::kNone;
  };
  std::vector<std::uint32_t> chain(nodes.count(), kNoClique);
  std::vector<std::uint8_t> is_single;  // by chain: whether it belongs to one node only
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!nodes.parent[n]) continue;
    const std::uint32_t clique = cliques.of[nodes.function[n].index()];
    const std::uint32_t above = chain[nodes.parent[n].index()];
    if (above != kNoClique && chains[above].clique == clique) {
      chain[n] = above;
      continue;
    }
    chain[n] = static_cast<std::uint32_t>(chains.size());
    // One node has one child per function: no other call begins this chain.
    const bool is_new = above != kNoClique && is_single[above] != 0 && is_alone(clique);
    if (!is_new) chain[n] = index.insert(std::uint64_t{above} << 32 | clique, chain[n]).first;
    if (chain[n] != chains.size()) continue;
    chains.push_back({above, clique});
    is_single.push_back(is_alone(clique) && (above == kNoClique || is_single[above] != 0));
  }
  return chain;
}

// Ways of being called, by number, ordered by the chain of the caller.
class ByChain {
 public:
  explicit ByChain(std::size_t chains) : first_(chains + 1) {}

  void count(std::uint32_t chain) { ++first_[chain + 1]; }
  void all_are_counted() {
    for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
    next_.assign(first_.begin(), first_.end() - 1);
    ways_.resize(first_.back());
  }
  void put(std::uint32_t chain, std::uint32_t way) { ways_[next_[chain]++] = way; }

  // The ways of a chain are at [begin, end).
  std::size_t begin(std::size_t chain) const { return first_[chain]; }  // also of the end
  std::size_t end(std::size_t chain) const { return first_[chain + 1]; }
  std::size_t count() const { return ways_.size(); }
  std::uint32_t at(std::size_t i) const { return ways_[i]; }

 private:
  std::vector<std::uint32_t> first_, next_, ways_;
};

}  // namespace

CliqueContexts clique_contexts(const Costs& costs, const Cliques& cliques, const PairIndex& pairs) {
  const Profile& profile = costs.profile();
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t>& cost = costs.inclusive();
  CliqueContexts result;
  std::vector<std::uint32_t> chain;
  WaysIn entered;
  at_once(nodes.count(), {[&] { chain = chains_of_nodes(profile, cliques, result.chains); },
                          [&] { entered = ways_in(profile); }});
  const std::vector<std::uint32_t>& others = entered.others;

  // Ways (nodes, then the other edges, numbered on from them) by the chain of the caller; within a
  // chain the rows are those of pairs. A stamp marks entries that another chain left.
  const auto nodes_count = static_cast<std::uint32_t>(nodes.count());
  ByChain ways(result.chains.size());
  const auto each_way = [&](auto visit) {
    for (std::uint32_t n = 0; n < nodes_count; ++n) {
      if (nodes.parent[n] && nodes.parent[nodes.parent[n].index()]) {
        visit(chain[nodes.parent[n].index()], n);
      }
    }
    for (std::uint32_t o = 0; o < others.size(); ++o) {
      const std::size_t from = edges.from[others[o]].index();
      if (nodes.parent[from]) visit(chain[from], nodes_count + o);
    }
  };
  each_way([&](std::uint32_t of, std::uint32_t) { ways.count(of); });
  ways.all_are_counted();
  each_way([&](std::uint32_t of, std::uint32_t way) { ways.put(of, way); });
  const auto pair_of = [&](std::size_t i) {
    const std::uint32_t way = ways.at(i);
    return way < nodes_count ? pairs.of_node(way) : pairs.of_edges()[others[way - nodes_count]];
  };

  struct Slot {
    std::uint32_t chain = kNoClique, row = kNoRow;
  };
  // The calls of the chains [begin, end).
  const auto calls_of = [&](std::uint32_t begin, std::uint32_t end, std::vector<CliqueCall>& rows) {
    std::vector<Slot> calls(pairs.count()), tails(pairs.count());
    rows.reserve(ways.begin(end) - ways.begin(begin));
    for (std::uint32_t c = begin; c < end; ++c) {
      const auto row_of = [&](std::uint32_t pair, bool is_tail) -> CliqueCall& {
        Slot& slot = (is_tail ? tails : calls)[pair];
        if (slot.chain != c) {
          slot = {c, static_cast<std::uint32_t>(rows.size())};
          const FunctionId caller = pairs.caller(pair), callee = pairs.callee(pair);
          const bool is_inside = cliques.of[caller.index()] == cliques.of[callee.index()];
          rows.push_back({c, caller, callee, is_tail, is_inside});
        }
        return rows[slot.row];
      };
      for (std::size_t i = ways.begin(c); i < ways.end(c); ++i) {
        if (i + kFetchAhead < ways.count()) __builtin_prefetch(&calls[pair_of(i + kFetchAhead)], 1);
        const std::uint32_t way = ways.at(i);
        if (way >= nodes_count) {
          const std::uint32_t e = others[way - nodes_count];
          row_of(pairs.of_edges()[e], edges.kind[e] == EdgeKind::kTail).calls += edges.calls[e];
          continue;
        }
        CliqueCall& row = row_of(pairs.of_node(way), false);
        if (const EdgeId edge = entered.of_node[way]) row.calls += edges.calls[edge.index()];
        if (chain[way] != c) row.cost += cost[way];
      }
    }
  };
  // Chains have nothing in common.
  const auto all = static_cast<std::uint32_t>(result.chains.size());
  std::uint32_t middle = 0;
  while (middle < all && ways.begin(middle) < ways.count() / 2) ++middle;
  std::vector<CliqueCall> second;
  at_once(nodes.count(),
          {[&] { calls_of(middle, all, second); }, [&] { calls_of(0, middle, result.calls); }});
  result.calls.insert(result.calls.end(), second.begin(), second.end());
  return result;
}

}  // namespace fbleprof::analysis
