#include "transform/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

using Set = std::vector<std::uint8_t>;  // by node

double factor_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kFactors[] = {
      {"", 1},     {"ns", 1},          {"us", 1e3}, {"ms", 1e6},
      {"s", 1e9},  {"min", 60e9},      {"B", 1},    {"KiB", 1024.0},
      {"KB", 1e3}, {"MiB", 1048576.0}, {"MB", 1e6}, {"GiB", 1073741824.0},
      {"GB", 1e9}, {"k", 1e3},         {"M", 1e6},  {"G", 1e9}};
  for (const auto& [name, factor] : kFactors) {
    if (name == unit) return factor;
  }
  return 1;
}

bool holds(double a, Query::Sign sign, double b) {
  switch (sign) {
    case Query::Sign::kLess:
      return a < b;
    case Query::Sign::kAtMost:
      return a <= b;
    case Query::Sign::kMore:
      return a > b;
    case Query::Sign::kAtLeast:
      return a >= b;
    case Query::Sign::kEqual:
      return a == b;
    case Query::Sign::kNotEqual:
      break;
  }
  return a != b;
}

class Evaluator {
 public:
  Evaluator(const Profile& profile, const Metric* metric)
      : profile_(profile), nodes_(profile.nodes()), metric_(metric) {}

  // `at` says that names mean the function itself, not the path that leads to it.
  Result<Set> run(const Query& query, bool at) {
    switch (query.kind) {
      case Query::Kind::kMatch:
        return match_set(query, at);
      case Query::Kind::kNot: {
        const bool was_negated = std::exchange(is_negated_, true);
        auto set = run(query.below[0], at);
        is_negated_ = was_negated;
        if (set) {
          for (std::uint8_t& in : *set) in = in == 0;
        }
        return set;
      }
      case Query::Kind::kAnd:
      case Query::Kind::kOr: {
        auto set = run(query.below[0], at);
        for (std::size_t i = 1; set && i < query.below.size(); ++i) {
          auto more = run(query.below[i], at);
          if (!more) return more;
          for (std::size_t n = 0; n < set->size(); ++n) {
            (*set)[n] =
                query.kind == Query::Kind::kAnd ? (*set)[n] & (*more)[n] : (*set)[n] | (*more)[n];
          }
        }
        return set;
      }
      case Query::Kind::kAt:
        return run(query.below[0], true);
      case Query::Kind::kFrom:
      case Query::Kind::kTo: {
        auto set = run(query.below[0], true);
        return set ? reach(std::move(*set), query.kind == Query::Kind::kFrom) : std::move(set);
      }
      case Query::Kind::kPred:
      case Query::Kind::kSucc: {
        auto set = run(query.below[0], true);
        return set ? step(*set, query.kind == Query::Kind::kSucc) : std::move(set);
      }
      case Query::Kind::kPath:
        return path_set(query, at);
      case Query::Kind::kCompare:
        break;
    }
    return compare_set(query);
  }

 private:
  // By function. A pattern that matches nothing is probably a typing error, except under `not`:
  // excluding libc is no mistake in a profile without libc.
  Result<std::vector<std::uint8_t>> named(const std::string& pattern, const Query& query) {
    auto matches = match(profile_, pattern);
    const auto where = [&](Error error) {
      error.file = "query";
      error.what = fmt::format("at character {}: {}", query.position + 1, error.what);
      return error;
    };
    if (!matches) return where(matches.error());
    if (is_negated_) return matches;
    for (const FunctionId function : nodes_.function) {
      if ((*matches)[function.index()] != 0) return matches;
    }
    return where({"", std::nullopt,
                  fmt::format("\"{}\" names no function of this profile", pattern),
                  likely_meant(profile_, pattern)});
  }

  Result<Set> match_set(const Query& query, bool at) {
    auto matches = named(query.patterns[0], query);
    if (!matches) return matches.error();
    Set set(nodes_.count());
    for (std::size_t n = 0; n < set.size(); ++n) {
      const NodeId parent = nodes_.parent[n];
      set[n] = (*matches)[nodes_.function[n].index()] |
               (!at && parent ? set[parent.index()] : std::uint8_t{0});
    }
    return set;
  }

  // A small automaton follows every path: bit i of a node's state says that the path ends in a
  // match of the first i+1 patterns, or, where a gap follows, has contained one.
  Result<Set> path_set(const Query& query, bool at) {
    const std::size_t length = query.patterns.size();
    std::vector<std::uint64_t> hits(profile_.functions().count());  // by function: bits of patterns
    std::uint64_t first = 1, gaps = 0;
    for (std::size_t i = 0; i < length; ++i) {
      auto matches = named(query.patterns[i], query);
      if (!matches) return matches.error();
      for (std::size_t f = 0; f < matches->size(); ++f) {
        if ((*matches)[f] != 0) hits[f] |= std::uint64_t{1} << i;
      }
      if (i + 1 < length && query.gap_before[i + 1]) gaps |= std::uint64_t{1} << i;
    }
    const std::uint64_t whole = std::uint64_t{1} << (length - 1);
    std::vector<std::uint64_t> state(nodes_.count());
    Set set(nodes_.count());
    for (std::size_t n = 0; n < set.size(); ++n) {
      const NodeId parent = nodes_.parent[n];
      const std::uint64_t above = parent ? state[parent.index()] : 0;
      state[n] = (((above << 1) | first) & hits[nodes_.function[n].index()]) | (above & gaps);
      set[n] = (state[n] & whole) != 0 || (!at && parent && set[parent.index()] != 0);
    }
    return set;
  }

  // Follows edges of all kinds, forward or back, to the end.
  Set reach(Set set, bool forward) const {
    const Edges& edges = profile_.edges();
    const std::size_t count = nodes_.count();
    // Edges other than tree edges, sorted by the node that they leave.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ways;
    Set has_way(count);
    for (std::size_t e = 0; e < edges.count(); ++e) {
      if (edges.kind[e] == EdgeKind::kTree) continue;
      const std::uint32_t from = edges.from[e].index(), to = edges.to[e].index();
      ways.emplace_back(forward ? from : to, forward ? to : from);
      has_way[ways.back().first] = 1;
    }
    std::sort(ways.begin(), ways.end());
    // One pass finds what the tree alone reaches; the rest is followed node by node.
    if (forward) {
      for (std::size_t n = 0; n < count; ++n) {
        if (nodes_.parent[n]) set[n] |= set[nodes_.parent[n].index()];
      }
    } else {
      for (std::size_t n = count; n-- > 0;) {
        if (nodes_.parent[n]) set[nodes_.parent[n].index()] |= set[n];
      }
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (set[n] != 0 && has_way[n] != 0) open.push_back(n);
    }
    const auto visit = [&](std::uint32_t node) {
      if (set[node] != 0) return;
      set[node] = 1;
      open.push_back(node);
    };
    while (!open.empty()) {
      const std::uint32_t n = open.back();
      open.pop_back();
      if (forward) {
        for (std::uint32_t c = n + 1; c < nodes_.subtree_end[n]; c = nodes_.subtree_end[c]) {
          visit(c);
        }
      } else if (nodes_.parent[n]) {
        visit(nodes_.parent[n].index());
      }
      if (has_way[n] == 0) continue;
      auto way = std::lower_bound(ways.begin(), ways.end(), std::pair(n, std::uint32_t{0}));
      for (; way != ways.end() && way->first == n; ++way) visit(way->second);
    }
    return set;
  }

  // One edge forward or backward.
  Set step(const Set& from, bool forward) const {
    const Edges& edges = profile_.edges();
    Set set(nodes_.count());
    for (std::size_t n = 0; n < set.size(); ++n) {
      if (!nodes_.parent[n]) continue;
      const std::size_t parent = nodes_.parent[n].index();
      if (forward) {
        set[n] |= from[parent];
      } else {
        set[parent] |= from[n];
      }
    }
    for (std::size_t e = 0; e < edges.count(); ++e) {
      const std::size_t caller = edges.from[e].index(), callee = edges.to[e].index();
      if (forward) {
        set[callee] |= from[caller];
      } else {
        set[caller] |= from[callee];
      }
    }
    return set;
  }

  Result<Set> compare_set(const Query& query) {
    Set set(nodes_.count());
    if (query.figure == Query::Figure::kDepth) {
      for (std::size_t n = 0; n < set.size(); ++n) {
        set[n] = holds(nodes_.depth[n], query.sign, query.value);
      }
      return set;
    }
    const bool is_calls = query.figure == Query::Figure::kCalls;
    const Metric* metric = is_calls ? profile_.find_metric(Role::kCalls) : metric_;
    const std::string_view unit = metric != nullptr ? std::string_view(metric->unit) : "";
    const bool is_time = query.unit == "ns" || query.unit == "us" || query.unit == "ms" ||
                         query.unit == "s" || query.unit == "min";
    const bool is_size = query.unit.ends_with('B');
    if ((is_time && unit != "ns") || (is_size && unit != "bytes")) {
      return Error{"query", std::nullopt,
                   fmt::format("at character {}: {} is not measured in {}", query.position + 1,
                               metric != nullptr ? metric->name : "the metric", query.unit),
                   "give a share (1%), a plain number, or another --metric"};
    }
    const auto value = [&](std::size_t n) -> double {
      return metric != nullptr ? static_cast<double>(metric->value(NodeId(n))) : 0;
    };
    const auto add = [&](double& sum, double more) {
      if (metric != nullptr) metric->add(sum, more);
    };
    double all = 0;
    for (std::size_t n = 0; n < set.size(); ++n) add(all, value(n));
    const double limit =
        query.unit == "%" ? query.value / 100 * all : query.value * factor_of(query.unit);

    if (query.figure == Query::Figure::kTotal) {
      const std::vector<double> cost = below(value, add);
      for (std::size_t n = 0; n < set.size(); ++n) set[n] = holds(cost[n], query.sign, limit);
      return set;
    }
    // The others are figures of functions, as in the tables.
    std::vector<double> of_function(profile_.functions().count());
    if (query.figure == Query::Figure::kDominated) {
      const std::vector<double> cost = below(value, add);
      std::vector<std::uint32_t> until(of_function.size());
      for (std::size_t n = 0; n < set.size(); ++n) {
        const std::size_t f = nodes_.function[n].index();
        if (n < until[f]) continue;
        until[f] = nodes_.subtree_end[n];
        add(of_function[f], cost[n]);
      }
    } else {
      for (std::size_t n = 0; n < set.size(); ++n) {
        add(of_function[nodes_.function[n].index()], value(n));
      }
    }
    for (std::size_t n = 0; n < set.size(); ++n) {
      set[n] = holds(of_function[nodes_.function[n].index()], query.sign, limit);
    }
    return set;
  }

  template <class Value, class Add>
  std::vector<double> below(Value value, Add add) const {
    std::vector<double> cost(nodes_.count());
    for (std::size_t n = cost.size(); n-- > 0;) {
      add(cost[n], value(n));
      if (nodes_.parent[n]) add(cost[nodes_.parent[n].index()], cost[n]);
    }
    return cost;
  }

  const Profile& profile_;
  const Nodes& nodes_;
  const Metric* metric_;
  bool is_negated_ = false;  // below a `not`
};

}  // namespace

Result<std::vector<std::uint8_t>> evaluate(const Profile& profile, const Query& query,
                                           const Metric* metric) {
  return Evaluator(profile, metric).run(query, false);
}

}  // namespace fbleprof::transform
