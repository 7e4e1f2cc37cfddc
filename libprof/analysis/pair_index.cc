#include "analysis/pair_index.h"

#include <algorithm>
#include <span>

#include "base/at_once.h"
#include "base/flat_map.h"

namespace fbleprof::analysis {

using namespace profile;

WaysIn ways_in(const Profile& profile) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  WaysIn ways{std::vector<EdgeId>(nodes.count()), {}};
  for (std::uint32_t e = 0; e < edges.count(); ++e) {
    const std::size_t to = edges.to[e].index();
    if (edges.kind[e] == EdgeKind::kTree && nodes.parent[to] == edges.from[e] &&
        !ways.of_node[to]) {
      ways.of_node[to] = EdgeId(e);
    } else {
      ways.others.push_back(e);
    }
  }
  return ways;
}

namespace {

// A node or, numbered after the nodes, an edge to no child, with the function that calls there.
struct Call {
  std::uint32_t way, caller;
};

// All calls by callee, those of one callee in order.
class ByCallee {
 public:
  explicit ByCallee(std::size_t functions) : first_(functions + 1) {}

  template <class EachCall>
  void fill(EachCall each_call) {
    each_call([&](std::uint32_t, FunctionId, FunctionId callee) { ++first_[callee.index() + 1]; });
    for (std::size_t f = 1; f < first_.size(); ++f) first_[f] += first_[f - 1];
    calls_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    each_call([&](std::uint32_t way, FunctionId caller, FunctionId callee) {
      calls_[next[callee.index()]++] = {way, caller.index()};
    });
  }

  std::span<const Call> of(std::size_t callee) const {
    return {calls_.data() + first_[callee], calls_.data() + first_[callee + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;  // by function
  std::vector<Call> calls_;
};

}  // namespace

PairIndex::PairIndex(const Profile& profile, const std::vector<std::uint8_t>& wanted)
    : of_node_(profile.nodes().count(), kNone), of_edge_(profile.edges().count(), kNone) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const auto is_wanted = [&](FunctionId caller, FunctionId callee) {
    return wanted.empty() || wanted[caller.index()] != 0 || wanted[callee.index()] != 0;
  };
  const auto is_of_node = [&](std::size_t e) {
    return edges.kind[e] == EdgeKind::kTree && nodes.parent[edges.to[e].index()] == edges.from[e];
  };
  const auto count = static_cast<std::uint32_t>(nodes.count());
  ByCallee calls(profile.functions().count());
  calls.fill([&](auto visit) {
    for (std::uint32_t n = 0; n < count; ++n) {
      if (!nodes.parent[n]) continue;
      const FunctionId caller = nodes.function[nodes.parent[n].index()];
      if (is_wanted(caller, nodes.function[n])) visit(n, caller, nodes.function[n]);
    }
    for (std::uint32_t e = 0; e < edges.count(); ++e) {
      if (is_of_node(e)) continue;
      const FunctionId caller = nodes.function[edges.from[e].index()];
      const FunctionId callee = nodes.function[edges.to[e].index()];
      if (is_wanted(caller, callee)) visit(count + e, caller, callee);
    }
  });
  // The callers of one callee, numbered by a table of all functions.
  std::vector<std::uint32_t> pair_of(profile.functions().count(), kNone);
  for (std::uint32_t f = 0; f < profile.functions().count(); ++f) {
    const auto first = static_cast<std::uint32_t>(caller_.size());
    for (const Call& call : calls.of(f)) {
      std::uint32_t& pair = pair_of[call.caller];
      if (pair == kNone || pair < first) {
        pair = static_cast<std::uint32_t>(caller_.size());
        caller_.emplace_back(call.caller);
        callee_.emplace_back(f);
      }
      (call.way < count ? of_node_[call.way] : of_edge_[call.way - count]) = pair;
    }
  }
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (is_of_node(e)) of_edge_[e] = of_node_[edges.to[e].index()];
  }
}

namespace {

// Pairs that filtering made, of functions that were not caller and callee there: found by name, or
// added.
class Others {
 public:
  Others(std::vector<FunctionId>& caller, std::vector<FunctionId>& callee)
      : caller_(caller), callee_(callee), known_(caller.size()) {}

  std::uint32_t find(FunctionId caller, FunctionId callee) {
    const std::uint64_t key = std::uint64_t{caller.index()} << 32 | callee.index();
    if (const std::uint32_t pair = found_.find(key); pair != FlatMap::kAbsent) return pair;
    const auto end = callee_.begin() + static_cast<std::ptrdiff_t>(known_);
    auto at =
        static_cast<std::size_t>(std::lower_bound(callee_.begin(), end, callee) - callee_.begin());
    while (at < known_ && callee_[at] == callee && caller_[at] != caller) ++at;
    if (at == known_ || callee_[at] != callee) {
      at = caller_.size();
      caller_.push_back(caller);
      callee_.push_back(callee);
    }
    return found_.insert(key, static_cast<std::uint32_t>(at)).first;
  }

 private:
  std::vector<FunctionId>&caller_, &callee_;
  const std::size_t known_;
  FlatMap found_;  // caller << 32 | callee
};

}  // namespace

PairIndex::PairIndex(const Profile& profile, const PairIndex& source, const Origin& origin)
    : caller_(source.caller_),
      callee_(source.callee_),
      of_node_(profile.nodes().count(), kNone),
      of_edge_(profile.edges().count(), kNone) {
  const Nodes& nodes = profile.nodes();
  const Edges& edges = profile.edges();
  const std::size_t count = nodes.count(), of_tree = count == 0 ? 0 : count - 1;
  const auto keep_nodes = [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      const std::uint32_t from = origin.node[n];
      if (!nodes.parent[n] || from == Origin::kNone) continue;
      const std::uint32_t pair = source.of_node_[from];
      const FunctionId caller = nodes.function[nodes.parent[n].index()];
      if (pair != kNone && source.caller_[pair] == caller) of_node_[n] = pair;
    }
  };
  const auto keep_edges = [&] {
    for (std::size_t e = of_tree; e < edges.count(); ++e) {
      const std::uint32_t pair = source.of_edge_[origin.other_edge[e - of_tree]];
      if (pair == kNone || source.caller_[pair] != nodes.function[edges.from[e].index()]) continue;
      if (source.callee_[pair] == nodes.function[edges.to[e].index()]) of_edge_[e] = pair;
    }
  };
  at_once(count,
          {[&] { keep_nodes(count / 2, count); }, [&] { keep_nodes(0, count / 2); }, keep_edges});
  Others others(caller_, callee_);
  for (std::size_t n = 0; n < count; ++n) {
    if (of_node_[n] != kNone || !nodes.parent[n]) continue;
    of_node_[n] = others.find(nodes.function[nodes.parent[n].index()], nodes.function[n]);
  }
  for (std::size_t e = of_tree; e < edges.count(); ++e) {
    if (of_edge_[e] != kNone) continue;
    of_edge_[e] =
        others.find(nodes.function[edges.from[e].index()], nodes.function[edges.to[e].index()]);
  }
  if (count != 0) std::copy(of_node_.begin() + 1, of_node_.end(), of_edge_.begin());
}

}  // namespace fbleprof::analysis
