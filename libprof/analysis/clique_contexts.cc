#include "analysis/clique_contexts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/at_once.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

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

// Ways of being called, by number, ordered by the chain of the caller: first those of one half of
// the pairs, then those of the other. Two threads take a half each, and need not ask of each way
// whose it is.
class ByChain {
 public:
  ByChain(std::size_t chains, std::size_t pairs)
      : chains_(chains), pairs_(pairs), first_(2 * chains + 1) {}

  void count(std::uint32_t chain, std::uint32_t pair) { ++first_[place_of(chain, pair) + 1]; }
  void all_are_counted() {
    for (std::size_t c = 1; c < first_.size(); ++c) first_[c] += first_[c - 1];
    next_.assign(first_.begin(), first_.end() - 1);
    ways_.resize(first_.back());
  }
  void put(std::uint32_t chain, std::uint32_t pair, std::uint32_t way) {
    ways_[next_[place_of(chain, pair)]++] = way;
  }

  // The first pair of a half, 0 or 1.
  std::size_t begin_of_half(std::size_t half) const { return half == 0 ? 0 : pairs_ / 2; }
  std::size_t count_of_half(std::size_t half) const {
    return half == 0 ? pairs_ / 2 : pairs_ - pairs_ / 2;
  }
  // The ways of a chain are at [begin, end).
  std::size_t begin(std::size_t half, std::size_t chain) const {
    return first_[half * chains_ + chain];
  }
  std::size_t end(std::size_t half, std::size_t chain) const { return begin(half, chain + 1); }
  std::uint32_t at(std::size_t i) const { return ways_[i]; }

 private:
  std::size_t place_of(std::uint32_t chain, std::uint32_t pair) const {
    return (pair >= pairs_ / 2 ? chains_ : 0) + chain;
  }

  const std::size_t chains_, pairs_;
  std::vector<std::uint32_t> first_, next_, ways_;
};

// No two calls are equal, so that the order is always the same.
bool costs_more(const CliqueCall& a, const CliqueCall& b) {
  return std::tie(b.cost, b.calls, a.chain, a.caller, a.callee, a.is_tail) <
         std::tie(a.cost, a.calls, b.chain, b.caller, b.callee, b.is_tail);
}

// The most expensive of the calls that are added, without keeping all.
class Top {
 public:
  explicit Top(std::size_t most) : most_(most) {}

  // Whether a call of that rank may be among them.
  bool can_hold(std::uint64_t cost, std::uint64_t calls) const {
    if (!is_full_ || most_ == 0) return most_ != 0;
    const CliqueCall& last = calls_.back();
    return cost != last.cost ? cost > last.cost : calls >= last.calls;
  }
  void add(const CliqueCall& call) {
    added_.push_back(call);
    if (added_.size() >= std::max(most_, kBatch)) settle();
  }
  void add(Top other) {
    other.settle();
    settle();
    added_ = std::move(other.calls_);
    settle();
    count_ += other.count_;
  }
  std::vector<CliqueCall> take() {
    settle();
    return std::move(calls_);
  }
  // Counts calls, added or not.
  void count(std::size_t calls) { count_ += calls; }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t kBatch = 256;

  void settle() {
    calls_.insert(calls_.end(), added_.begin(), added_.end());
    added_.clear();
    std::sort(calls_.begin(), calls_.end(), costs_more);
    is_full_ = calls_.size() >= most_;
    if (is_full_) calls_.resize(most_);
  }

  const std::size_t most_;
  std::size_t count_ = 0;
  bool is_full_ = false;
  std::vector<CliqueCall> calls_, added_;
};

}  // namespace

CliqueContexts clique_contexts(const Costs& costs, const Cliques& cliques, const PairIndex& pairs,
                               std::size_t most) {
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
  ByChain ways(result.chains.size(), pairs.count());
  const auto each_way = [&](auto visit) {
    for (std::uint32_t n = 0; n < nodes_count; ++n) {
      if (nodes.parent[n] && nodes.parent[nodes.parent[n].index()]) {
        visit(chain[nodes.parent[n].index()], pairs.of_node(n), n);
      }
    }
    for (std::uint32_t o = 0; o < others.size(); ++o) {
      const std::size_t from = edges.from[others[o]].index();
      if (nodes.parent[from]) visit(chain[from], pairs.of_edges()[others[o]], nodes_count + o);
    }
  };
  each_way([&](std::uint32_t of, std::uint32_t pair, std::uint32_t) { ways.count(of, pair); });
  ways.all_are_counted();
  each_way(
      [&](std::uint32_t of, std::uint32_t pair, std::uint32_t way) { ways.put(of, pair, way); });
  const auto pair_of = [&](std::size_t i) {
    const std::uint32_t way = ways.at(i);
    return way < nodes_count ? pairs.of_node(way) : pairs.of_edges()[others[way - nodes_count]];
  };

  struct Sum {
    std::uint32_t chain = kNoClique;
    std::uint64_t calls = 0, cost = 0;
  };
  struct Met {
    std::uint32_t pair;
    bool is_tail;
  };
  // The calls of half of the pairs. Pairs have nothing in common, and a clique of most functions
  // has most ways in one chain.
  const bool any_tails = std::any_of(others.begin(), others.end(), [&](std::uint32_t e) {
    return edges.kind[e] == EdgeKind::kTail;
  });
  const auto calls_of = [&](std::size_t half, Top& top) {
    const std::size_t first = ways.begin_of_half(half), count = ways.count_of_half(half);
    std::vector<Sum> calls(count), tails(any_tails ? count : 0);
    std::vector<Met> met;  // in one chain
    const auto chains = static_cast<std::uint32_t>(result.chains.size());
    for (std::uint32_t c = 0; c < chains; ++c) {
      met.clear();
      const auto known_sum = [&](std::uint32_t pair, bool is_tail) -> Sum& {
        return (is_tail ? tails : calls)[pair - first];
      };
      const auto sum_of = [&](std::uint32_t pair, bool is_tail) -> Sum& {
        Sum& sum = known_sum(pair, is_tail);
        if (sum.chain != c) {
          sum = {c, 0, 0};
          met.push_back({pair, is_tail});
        }
        return sum;
      };
      const std::size_t end = ways.end(half, c);
      for (std::size_t i = ways.begin(half, c); i < end; ++i) {
        if (i + kFetchAhead < end) {
          __builtin_prefetch(&calls[pair_of(i + kFetchAhead) - first], 1);
        }
        const std::uint32_t pair = pair_of(i);
        const std::uint32_t way = ways.at(i);
        if (way >= nodes_count) {
          const std::uint32_t e = others[way - nodes_count];
          sum_of(pair, edges.kind[e] == EdgeKind::kTail).calls += edges.calls[e];
          continue;
        }
        Sum& sum = sum_of(pair, false);
        if (const EdgeId edge = entered.of_node[way]) sum.calls += edges.calls[edge.index()];
        if (chain[way] != c) costs.add(sum.cost, cost[way]);
      }
      for (const Met& one : met) {
        const Sum& sum = known_sum(one.pair, one.is_tail);
        if (!top.can_hold(sum.cost, sum.calls)) continue;
        const FunctionId caller = pairs.caller(one.pair), callee = pairs.callee(one.pair);
        const bool is_inside = cliques.of[caller.index()] == cliques.of[callee.index()];
        top.add({c, caller, callee, one.is_tail, is_inside, sum.calls, sum.cost});
      }
      top.count(met.size());
    }
  };
  Top first(most), second(most);
  at_once(nodes.count(), {[&] { calls_of(1, second); }, [&] { calls_of(0, first); }});
  first.add(std::move(second));
  result.count = first.count();
  result.calls = first.take();
  return result;
}

}  // namespace fbleprof::analysis
