#include "analysis/cliques.h"

#include <algorithm>
#include <tuple>

#include "analysis/by_callee.h"
#include "analysis/components.h"
#include "analysis/costs.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// Each caller -> callee once. The root calls nobody.
std::vector<std::pair<std::uint32_t, std::uint32_t>> call_graph(const Profile& profile,
                                                                const ByCallee& by_callee) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<std::uint32_t> seen(by_callee.function_count(), kNoClique);  // by caller
  for (std::uint32_t f = 0; f < by_callee.function_count(); ++f) {
    const auto add = [&](NodeId from, NodeId to) {
      if (!nodes.parent[from.index()] || !nodes.parent[to.index()]) return;
      const std::uint32_t caller = nodes.function[from.index()].index();
      if (seen[caller] == f) return;
      seen[caller] = f;
      pairs.emplace_back(caller, f);
    };
    for (const std::uint32_t* n = by_callee.begin(f); n != by_callee.end(f); ++n) {
      if (nodes.parent[*n]) add(nodes.parent[*n], NodeId(*n));
    }
    for (const std::uint32_t* e = by_callee.edges_begin(f); e != by_callee.edges_end(f); ++e) {
      add(edges.from[*e], edges.to[*e]);
    }
  }
  return pairs;
}

class Finder {
 public:
  Finder(const Profile& profile, const Metric& metric, const ByCallee& by_callee)
      : profile_(profile),
        by_callee_(by_callee),
        nodes_(profile.nodes()),
        edges_(profile.edges()),
        metric_(metric),
        cost_(inclusive(profile, metric)) {}

  Cliques run() {
    group();
    charge();
    count_calls();
    for (Clique& clique : result_.cliques) classify(clique);
    sort();
    return std::move(result_);
  }

 private:
  std::uint32_t clique_at(std::size_t node) const {
    return nodes_.parent[node] ? result_.of[nodes_.function[node].index()] : kNoClique;
  }
  CliqueMember& member_at(std::size_t node) {
    const std::size_t f = nodes_.function[node].index();
    return result_.cliques[result_.of[f]].members[place_[f]];
  }

  void group() {
    const auto pairs = call_graph(profile_, by_callee_);
    const auto component = components(profile_.functions().count(), pairs);
    result_.of.assign(component.size(), kNoClique);
    place_.resize(component.size());
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
      place_[function.index()] = static_cast<std::uint32_t>(result_.cliques[clique].members.size());
      result_.cliques[clique].members.push_back({.function = function});
    }
    for (const auto& [caller, callee] : pairs) {
      if (caller == callee) result_.cliques[result_.of[caller]].recursion = Recursion::kSelf;
    }
    for (Clique& clique : result_.cliques) {
      if (clique.members.size() > 1) clique.recursion = Recursion::kMutual;
    }
  }

  void charge() {
    std::vector<std::uint32_t> depth(nodes_.count());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const std::uint32_t own = clique_at(n);
      if (own == kNoClique) continue;
      const std::size_t parent = nodes_.parent[n].index();
      const std::uint32_t outer = clique_at(parent);
      Clique& clique = result_.cliques[own];
      CliqueMember& member = member_at(n);
      member.self += metric_.value(NodeId(n));
      clique.self += metric_.value(NodeId(n));
      if (outer == own) {
        depth[n] = depth[parent] + 1;
      } else {
        depth[n] = 1;
        member.entry_cost += cost_[n];
        clique.cost += cost_[n];
        if (outer != kNoClique) member_at(parent).children += cost_[n];
      }
      clique.depth = std::max<std::uint64_t>(clique.depth, depth[n]);
    }
  }

  void count_calls() {
    for (std::size_t e = 0; e < edges_.count(); ++e) {
      const std::size_t from = edges_.from[e].index(), to = edges_.to[e].index();
      const std::uint32_t own = clique_at(to);
      if (own == kNoClique) continue;
      Clique& clique = result_.cliques[own];
      if (clique_at(from) == own) {
        clique.inside_calls += edges_.calls[e];
        member_at(to).inside_calls += edges_.calls[e];
        clique.depth_is_bound |= edges_.kind[e] == EdgeKind::kBack;
      } else {
        clique.entries += edges_.calls[e];
        member_at(to).entries += edges_.calls[e];
      }
    }
  }

  // Of a function that calls itself: once a call or more often? By the outermost call of each
  // context, since deeper ones are folded into one.
  void classify(Clique& clique) {
    if (clique.recursion != Recursion::kSelf || clique.entries == 0) return;
    clique.recursion = Recursion::kSingle;
    if (entered_.empty()) count_entered();
    const FunctionId function = clique.members[0].function;
    if (branches_[function.index()] != 0) {
      clique.recursion = Recursion::kSeveral;
    } else if (clique.depth_is_bound) {
      // One call after the other: as many as there were, if spread evenly over the entries.
      const std::uint64_t mean =
          (clique.entries + clique.inside_calls + clique.entries - 1) / clique.entries;
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
  const ByCallee& by_callee_;
  const Nodes& nodes_;
  const Edges& edges_;
  const Metric& metric_;
  const std::vector<std::uint64_t> cost_;
  Cliques result_;
  std::vector<std::uint32_t> place_;    // by function: among its clique's members
  std::vector<std::uint64_t> entered_;  // by node: calls that are no recursion of its own
  std::vector<std::uint8_t> branches_;  // by function
};

}  // namespace

Cliques find_cliques(const Profile& profile, const Metric& metric) {
  return find_cliques(profile, metric, ByCallee(profile));
}

Cliques find_cliques(const Profile& profile, const Metric& metric, const ByCallee& by_callee) {
  return Finder(profile, metric, by_callee).run();
}

CliqueContexts clique_contexts(const Profile& profile, const Metric& metric, const Cliques& cliques,
                               const ByCallee& by_callee) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::vector<std::uint64_t> cost = inclusive(profile, metric);
  CliqueContexts result;
  FlatMap chains;
  std::vector<std::uint32_t> chain(nodes.count(), kNoClique);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!nodes.parent[n]) continue;
    const std::uint32_t clique = cliques.of[nodes.function[n].index()];
    const std::uint32_t above = chain[nodes.parent[n].index()];
    if (above != kNoClique && result.chains[above].clique == clique) {
      chain[n] = above;
      continue;
    }
    const std::uint64_t key = std::uint64_t{above} << 32 | clique;
    const auto [index, added] =
        chains.insert(key, static_cast<std::uint32_t>(result.chains.size()));
    if (added) result.chains.push_back({above, clique});
    chain[n] = index;
  }

  // Of each callee: its ways in, sorted so that those of one row stand side by side.
  struct Way {
    std::uint32_t chain, caller;
    bool is_tail;
    std::uint64_t calls, cost;
    auto key() const { return std::tuple(chain, caller, is_tail); }
  };
  std::vector<Way> ways;
  for (std::size_t f = 0; f < by_callee.function_count(); ++f) {
    ways.clear();
    const auto add = [&](std::size_t from, bool is_tail, std::uint64_t calls, std::uint64_t cost) {
      if (!nodes.parent[from]) return;
      ways.push_back({chain[from], nodes.function[from].index(), is_tail, calls, cost});
    };
    for (const std::uint32_t* n = by_callee.begin(f); n != by_callee.end(f); ++n) {
      if (!nodes.parent[*n]) continue;
      const std::size_t from = nodes.parent[*n].index();
      const std::uint32_t e = by_callee.tree_edge(*n);
      add(from, false, e != ByCallee::kNoEdge ? edges.calls[e] : 0,
          chain[from] != chain[*n] ? cost[*n] : 0);
    }
    for (const std::uint32_t* e = by_callee.edges_begin(f); e != by_callee.edges_end(f); ++e) {
      add(edges.from[*e].index(), edges.kind[*e] == EdgeKind::kTail, edges.calls[*e], 0);
    }
    std::sort(ways.begin(), ways.end(),
              [](const Way& a, const Way& b) { return a.key() < b.key(); });
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Way& way = ways[i];
      if (i == 0 || ways[i - 1].key() != way.key()) {
        const bool is_inside = cliques.of[way.caller] == cliques.of[f];
        result.calls.push_back(
            {way.chain, FunctionId(way.caller), FunctionId(f), way.is_tail, is_inside});
      }
      result.calls.back().calls += way.calls;
      result.calls.back().cost += way.cost;
    }
  }
  return result;
}

}  // namespace fbleprof::analysis
