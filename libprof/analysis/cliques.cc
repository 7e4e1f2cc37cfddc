#include "analysis/cliques.h"

#include <algorithm>

#include "analysis/components.h"
#include "analysis/costs.h"
#include "analysis/pair_index.h"
#include "base/at_once.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

// Whether a function stands for frames that are missing, so that what is above it did not call what
// is below it.
bool is_gap(FunctionKind kind) {
  return kind == FunctionKind::kTruncated || kind == FunctionKind::kUnwound ||
         kind == FunctionKind::kOverflow || kind == FunctionKind::kDeeper;
}

// Each caller -> callee once. The root calls nobody, nor do gaps.
std::vector<std::pair<std::uint32_t, std::uint32_t>> call_graph(const Profile& profile,
                                                                const PairIndex& pairs) {
  const auto& kinds = profile.functions().kind;
  // By pair, whether a node or an edge has it: filtering leaves pairs without calls.
  std::vector<std::uint8_t> has_node(pairs.count()), has_edge(pairs.count());
  const auto mark_nodes = [&] {
    for (std::size_t n = 0; n < profile.nodes().count(); ++n) {
      if (const std::uint32_t pair = pairs.of_node(n); pair != PairIndex::kNone) has_node[pair] = 1;
    }
  };
  const auto mark_edges = [&] {
    for (const std::uint32_t pair : pairs.of_edges()) has_edge[pair] = 1;
  };
  at_once(profile.nodes().count(), {mark_nodes, mark_edges});
  const auto is_call = [&](std::uint32_t pair) {
    const FunctionKind caller = kinds[pairs.caller(pair).index()];
    const FunctionKind callee = kinds[pairs.callee(pair).index()];
    return (has_node[pair] | has_edge[pair]) != 0 && caller != FunctionKind::kRoot &&
           callee != FunctionKind::kRoot && !is_gap(caller);
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> calls;
  for (std::uint32_t p = 0; p < pairs.count(); ++p) {
    if (is_call(p)) calls.emplace_back(pairs.caller(p).index(), pairs.callee(p).index());
  }
  return calls;
}

class Finder {
 public:
  Finder(const Costs& costs, const PairIndex& pairs)
      : costs_(costs),
        profile_(costs.profile()),
        pairs_(pairs),
        nodes_(profile_.nodes()),
        edges_(profile_.edges()),
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
    std::vector<std::uint32_t> entered_until(result_.cliques.size());
    for (std::size_t n = 0; n < nodes_.count(); ++n) {
      const std::uint32_t own = clique_at(n);
      if (own == kNoClique) continue;
      const std::size_t parent = nodes_.parent[n].index();
      const std::uint32_t outer = clique_at(parent);
      CliqueMember& member = member_at(n);
      costs_.add(member.self, costs_.own(NodeId(n)));
      if (outer == own) {
        depth[n] = depth[parent] + 1;
      } else {
        depth[n] = 1;
        if (n < entered_until[own]) {
          // Entered again below a gap: the call above it has this cost, which counts once.
          std::size_t above = parent;
          while (clique_at(above) != own) above = nodes_.parent[above].index();
          if (costs_.is_sum()) member_at(above).children -= cost_[n];
        } else {
          entered_until[own] = nodes_.subtree_end[n];
          costs_.add(member.entry_cost, cost_[n]);
        }
        if (outer != kNoClique) costs_.add(member_at(parent).children, cost_[n]);
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
        costs_.add(clique.self, member.self);
        costs_.add(clique.cost, member.entry_cost);
        clique.entries += member.entries;
        clique.inside_calls += member.inside_calls;
      }
    }
  }

  // Whether a function that calls itself does so once per call or more often. Judged by the
  // outermost call of each context, since deeper ones are folded into one.
  void classify(Clique& clique) {
    if (clique.recursion != Recursion::kSelf || clique.entries == 0) return;
    if (entered_.empty()) count_entered();
    const FunctionId function = clique.members[0].function;
    // A fold hid where its calls come from.
    if (not_counted_[function.index()] != 0) return;
    clique.recursion = Recursion::kSingle;
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
    not_counted_.resize(profile_.functions().count());
    std::vector<std::uint64_t> recursive(nodes_.count());
    std::vector<std::uint8_t> folded(nodes_.count());
    for (std::size_t e = 0; e < edges_.count(); ++e) {
      const std::size_t from = edges_.from[e].index(), to = edges_.to[e].index();
      if (nodes_.function[from] == nodes_.function[to]) {
        recursive[from] += edges_.calls[e];
        folded[from] |= from == to;
        not_counted_[nodes_.function[from].index()] |=
            edges_.kind[e] == EdgeKind::kBack && edges_.calls[e] == 0;
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

  const Costs& costs_;
  const Profile& profile_;
  const PairIndex& pairs_;
  const Nodes& nodes_;
  const Edges& edges_;
  const std::vector<std::uint64_t>& cost_;
  Cliques result_;
  std::vector<CliqueMember> member_;    // by function: in one array, as millions of steps read it
  std::vector<std::uint64_t> entered_;  // by node: calls that are no recursion of its own
  std::vector<std::uint8_t> branches_, not_counted_;  // by function
};

}  // namespace

Cliques find_cliques(const Costs& costs) { return find_cliques(costs, PairIndex(costs.profile())); }

Cliques find_cliques(const Costs& costs, const PairIndex& pairs) {
  return Finder(costs, pairs).run();
}

}  // namespace fbleprof::analysis
