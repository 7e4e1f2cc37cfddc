#include "transform/take_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "names/parts.h"
#include "transform/baseline.h"
#include "transform/rebuild.h"

namespace fbleprof::transform {

using namespace profile;
using names::without_parameters;

namespace {

// Distributes `amount` in shares of `weights`, one after the other, so that the parts add up to it.
class Dealer {
 public:
  void add_weight(std::uint64_t weight) { weights_ += weight; }
  void set_amount(std::uint64_t amount) { amount_ = amount; }
  std::uint64_t amount() const { return amount_; }
  std::uint64_t weights() const { return weights_; }

  std::uint64_t part_of(std::uint64_t weight) {
    using Wide = unsigned __int128;
    passed_ += weight;
    const auto up_to = static_cast<std::uint64_t>(Wide{amount_} * passed_ / weights_);
    const std::uint64_t part = up_to - dealt_;
    dealt_ = up_to;
    return part;
  }

 private:
  std::uint64_t amount_ = 0, weights_ = 0, passed_ = 0, dealt_ = 0;
};

Result<const Metric*> time_metric(const Profile& profile, std::string_view name) {
  const Metric* metric = profile.find_metric(name);
  if (metric != nullptr && metric->unit == "ns") return metric;
  return Error{"", std::nullopt,
               fmt::format("--times-from: \"{}\" is not a time that both runs measured", name),
               "profile both by the same clock"};
}

// The values of a metric without those of runs that stay unchanged.
class Own {
 public:
  Own(const Profile& profile, const Metric& metric)
      : all_(metric), unchanged_(profile.find_metric(unchanged_name(metric.name))) {}

  std::uint64_t unchanged(NodeId node) const {
    return unchanged_ == nullptr ? 0 : unchanged_->value(node);
  }
  // A live program's file may have grown from one reading to the next.
  std::uint64_t value(NodeId node) const {
    return all_.value(node) - std::min(all_.value(node), unchanged(node));
  }

 private:
  const Metric& all_;
  const Metric* unchanged_;
};

// "f(int) [resume]" is "f [resume]": it is not f.
std::string bare(std::string_view name) {
  const std::size_t mark = name.ends_with(']') ? name.rfind(" [") : std::string_view::npos;
  const std::string_view whole = name.substr(0, mark);
  return std::string(without_parameters(whole)) + std::string(name.substr(whole.size()));
}

// Whether the symbol tables say that functions of one name may be different ones.
bool may_differ(const Functions& functions, FunctionId a, FunctionId b) {
  const auto has_namesakes = [&](FunctionId f) {
    return functions.namesakes[f.index()] > Namesakes::kNone;
  };
  const StringId unit_a = functions.unit[a.index()], unit_b = functions.unit[b.index()];
  return has_namesakes(a) || has_namesakes(b) || (unit_a && unit_b && unit_a != unit_b);
}

// By function: the function whose time it takes. Other builds, and other profilers, may give it
// another module, and no parameters.
std::vector<FunctionId> namesakes(const Profile& profile, const std::vector<std::uint8_t>& hooked,
                                  const Metric& base) {
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint8_t> has_time(hooked.size());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    has_time[nodes.function[n].index()] |= base.value(NodeId(n)) != 0;
  }
  // By name: the only function that has hooks and no time; none: there are several.
  std::unordered_map<std::string, FunctionId> by_name;
  const auto add = [&](std::string name, FunctionId function) {
    const auto [at, added] = by_name.try_emplace(std::move(name), function);
    if (!added && at->second != function) at->second = FunctionId();
  };
  for (std::size_t f = 0; f < hooked.size(); ++f) {
    if (hooked[f] == 0 || has_time[f] != 0) continue;
    const std::string name = display_name(profile, FunctionId(f));
    add(bare(name), FunctionId(f));
    add(name, FunctionId(f));
  }
  std::vector<FunctionId> result(hooked.size());
  for (std::size_t f = 0; f < hooked.size(); ++f) {
    result[f] = FunctionId(f);
    if (hooked[f] != 0 || has_time[f] == 0) continue;
    const std::string name = display_name(profile, FunctionId(f));
    auto found = by_name.find(name);
    if (found == by_name.end()) found = by_name.find(bare(name));
    if (found == by_name.end() || !found->second) continue;
    if (may_differ(profile.functions(), found->second, FunctionId(f))) continue;
    result[f] = found->second;
  }
  return result;
}

// By node: the function with hooks in which its time is spent; none: there is none above it.
// is_own: whether the node is of that function.
std::vector<FunctionId> owners(const Profile& profile, const Own& calls, const Metric& base,
                               std::vector<std::uint8_t>& is_own) {
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint8_t> hooked(profile.functions().count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    hooked[nodes.function[n].index()] |= calls.value(NodeId(n)) != 0;
  }
  const std::vector<FunctionId> namesake = namesakes(profile, hooked, base);
  std::vector<FunctionId> owner(nodes.count());
  is_own.assign(nodes.count(), 0);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const FunctionId known_as = namesake[nodes.function[n].index()];
    if (hooked[known_as.index()] != 0) {
      owner[n] = known_as;
      is_own[n] = 1;
    } else if (nodes.parent[n]) {
      owner[n] = owner[nodes.parent[n].index()];
    }
  }
  return owner;
}

// Numbers the pairs of a function with hooks and a function that runs below it, or itself: each
// pair has one price in a run. `pair_of[n]`: by node; kAbsent: there is no function with hooks
// above.
class PricedPairs {
 public:
  PricedPairs(const Profile& profile, const std::vector<FunctionId>& owner,
              const std::vector<std::uint8_t>& is_own)
      : pair_of(owner.size(), FlatMap::kAbsent), index_(owner.size() / 8) {
    for (std::size_t n = 0; n < owner.size(); ++n) {
      if (!owner[n]) continue;
      const FunctionId function = is_own[n] != 0 ? owner[n] : profile.nodes().function[n];
      pair_of[n] = number(owner[n], function);
    }
  }
  // The pair of the function with hooks alone, which some node was called as.
  std::uint32_t own_pair(FunctionId owner) { return number(owner, owner); }
  std::size_t count() const { return index_.size(); }

  std::vector<std::uint32_t> pair_of;

 private:
  std::uint32_t number(FunctionId owner, FunctionId function) {
    return index_
        .insert(std::uint64_t{owner.index()} << 32 | function.index(),
                static_cast<std::uint32_t>(index_.size()))
        .first;
  }

  FlatMap index_;
};

// How much of the time lies in other functions: `own` weighs the measurements of the run with
// hooks, by function, `calls` its calls, and `amounts` is what the other run measured. Differences
// that a hook or chance can explain do not count.
double moved_share(const std::vector<Dealer>& own, const std::vector<Dealer>& calls,
                   const std::vector<std::uint64_t>& amounts) {
  constexpr double kPerCallNs = 4, kPeriodNs = 1e6, kDeviations = 3;
  double own_total = 0, total = 0, more = 0, less = 0;
  for (std::size_t f = 0; f < amounts.size(); ++f) {
    const auto now = static_cast<double>(own[f].weights());
    const auto base = static_cast<double>(amounts[f]);
    const double allowed = kPerCallNs * static_cast<double>(calls[f].weights()) +
                           kDeviations * std::sqrt(kPeriodNs * (now + base));
    own_total += now;
    total += base;
    more += std::max(0.0, now - base - allowed);
    less += std::max(0.0, base - now - allowed);
  }
  const double most = std::max(own_total, total);
  return most == 0 ? 0 : std::max(more, less) / most;
}

// Whether the run with hooks measured how long the program's own code ran: hooks made that longer.
// They did not make it wait longer, or keep memory longer, and no other run knows that.
bool measures_running(const Metric& metric) {
  return metric.role == Role::kSamples || metric.role == Role::kCpuTime ||
         metric.role == Role::kWallTime || metric.role == Role::kOwnCost;
}

// Drops the baseline's metrics, and contexts that nothing else was charged to.
Profile without_baseline(const Profile& profile, const Parts& hooked) {
  const Nodes& nodes = profile.nodes();
  Parts parts = profile.parts();
  std::erase_if(parts.metrics, [](const Metric& m) { return m.is_baseline; });
  parts.processes = hooked.processes;
  parts.threads = hooked.threads;
  Rebuilding how;
  how.kept_subtree.assign(nodes.count(), 0);
  for (std::size_t n = nodes.count(); n-- > 0;) {
    std::uint8_t& kept = how.kept_subtree[n];
    kept |= !nodes.parent[n];
    for (const Metric& metric : parts.metrics) kept |= metric.value(NodeId(n)) != 0;
    if (nodes.parent[n]) how.kept_subtree[nodes.parent[n].index()] |= kept;
  }
  how.root = nodes.function[0];
  return rebuild(Profile(std::move(parts)), how);
}

}  // namespace

Result<TakenTimes> take_times(const Profile& profile, const Parts& hooked, std::string_view time,
                              std::string_view base_time, bool with_samples) {
  const auto found = time_metric(profile, time);
  if (!found) return found.error();
  const auto base_found = time_metric(profile, base_time);
  if (!base_found) return base_found.error();
  const Own own(profile, **found);
  const Metric& base = **base_found;
  const Metric no_calls;
  const Metric* counted = profile.find_metric(Role::kCalls);
  const Own calls(profile, counted != nullptr ? *counted : no_calls);
  const Nodes& nodes = profile.nodes();
  bool has_calls = false;
  for (std::size_t n = 0; n < nodes.count(); ++n) has_calls |= calls.value(NodeId(n)) != 0;
  if (!has_calls) {
    return Error{"", std::nullopt, "--times-from: no calls were counted in this run",
                 "it is for runs with hooks: -pg or -finstrument-functions"};
  }

  std::vector<std::uint8_t> is_own;
  const std::vector<FunctionId> owner = owners(profile, calls, base, is_own);
  PricedPairs pairs(profile, owner, is_own);
  // By function with hooks, including all that runs below it.
  std::vector<Dealer> all_time(profile.functions().count()), all_calls(all_time.size());
  std::vector<std::uint64_t> all_amounts(all_time.size());
  std::vector<Dealer> by_time(pairs.count()), by_calls(by_time.size());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!owner[n]) continue;
    const NodeId node(n);
    by_time[pairs.pair_of[n]].add_weight(own.value(node));
    all_time[owner[n].index()].add_weight(own.value(node));
    if (owner[n] != nodes.function[n]) continue;
    by_calls[pairs.pair_of[n]].add_weight(calls.value(node));
    all_calls[owner[n].index()].add_weight(calls.value(node));
  }
  // The pair that gets what the other run measured at a node below a function with hooks.
  const auto is_below = [&](std::size_t n) {
    return is_own[n] == 0 && by_time[pairs.pair_of[n]].weights() == 0;
  };
  const auto pair_for = [&](std::size_t n) {
    return is_below(n) ? pairs.own_pair(owner[n]) : pairs.pair_of[n];
  };
  TakenTimes result;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const std::uint64_t time_ns = base.value(NodeId(n));
    result.total_ns += time_ns;
    if (!owner[n]) {
      result.elsewhere_ns += time_ns;
      continue;
    }
    if (is_below(n)) result.below_ns += time_ns;
    all_amounts[owner[n].index()] += time_ns;
  }
  if (result.elsewhere_ns == result.total_ns) {
    return Error{"", std::nullopt, "--times-from: none of its functions was called in this run",
                 "is it the same program, with its symbols?"};
  }
  result.moved = moved_share(all_time, all_calls, all_amounts);

  // The values of a metric whose amounts are those of `measured`, of the other run.
  const auto spread = [&](const Own& replaced, const Metric& measured) {
    auto values = std::make_shared<Counts>(nodes.count());
    std::vector<std::uint64_t> amounts(pairs.count());
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      const std::uint64_t amount = measured.value(NodeId(n));
      if (owner[n]) {
        amounts[pair_for(n)] += amount;
      } else {
        values->add(0, amount);
      }
    }
    std::vector<Dealer> in_time = by_time, in_calls = by_calls;
    for (std::size_t f = 0; f < pairs.count(); ++f) {
      (in_time[f].weights() != 0 ? in_time : in_calls)[f].set_amount(amounts[f]);
    }
    for (std::size_t n = 0; n < nodes.count(); ++n) {
      const NodeId node(n);
      values->add(n, replaced.unchanged(node));
      if (!owner[n]) continue;
      const std::uint32_t pair = pairs.pair_of[n];
      if (in_time[pair].amount() != 0) {
        values->add(n, in_time[pair].part_of(own.value(node)));
      } else if (in_calls[pair].amount() != 0 && owner[n] == nodes.function[n]) {
        values->add(n, in_calls[pair].part_of(calls.value(node)));
      }
    }
    return values;
  };

  Parts parts = profile.parts();
  const Metric* samples = with_samples ? profile.find_metric(Role::kSamples) : nullptr;
  const Metric* base_samples =
      samples == nullptr ? nullptr : profile.find_metric(baseline_name(samples->name));
  const auto is_kept_samples = [&](const Metric& metric) {
    return base_samples != nullptr && metric.role == Role::kSamples;
  };
  std::erase_if(parts.metrics, [&](const Metric& metric) {
    return !metric.is_baseline && metric.name != time && measures_running(metric) &&
           !is_kept_samples(metric);
  });
  for (Metric& metric : parts.metrics) {
    if (metric.is_baseline) continue;
    if (metric.name == time) {
      metric.values = spread(own, base);
    } else if (is_kept_samples(metric)) {
      metric.values = spread(Own(profile, metric), *base_samples);
    }
  }
  result.profile = without_baseline(Profile(std::move(parts)), hooked);
  return result;
}

}  // namespace fbleprof::transform
