#include "transform/take_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "transform/baseline.h"
#include "transform/regroup.h"

namespace fbleprof::transform {

using namespace profile;

namespace {

// Deals out `amount` in shares of `weights`, one after the other, so that the parts add up to it.
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
  return Error{"", std::nullopt, fmt::format("--times-from: \"{}\" is no time of both runs", name),
               "profile both by the same clock"};
}

// By node: the function with hooks in which its time is spent; none: there is none above it.
std::vector<FunctionId> owners(const Profile& profile, const Metric& calls) {
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint8_t> hooked(profile.functions().count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    hooked[nodes.function[n].index()] |= calls.value(NodeId(n)) != 0;
  }
  std::vector<FunctionId> owner(nodes.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (hooked[nodes.function[n].index()] != 0) {
      owner[n] = nodes.function[n];
    } else if (nodes.parent[n]) {
      owner[n] = owner[nodes.parent[n].index()];
    }
  }
  return owner;
}

// Without the baseline's metrics, and contexts that nothing else was charged to.
Profile without_baseline(const Profile& profile, bool keep_sites) {
  const Nodes& nodes = profile.nodes();
  const std::string prefix = baseline_name("");
  Parts parts = profile.parts();
  std::erase_if(parts.metrics, [&](const Metric& m) { return m.name.starts_with(prefix); });
  Regrouping how;
  how.kept_subtree.assign(nodes.count(), 0);
  for (std::size_t n = nodes.count(); n-- > 0;) {
    std::uint8_t& kept = how.kept_subtree[n];
    kept |= !nodes.parent[n];
    for (const Metric& metric : parts.metrics) kept |= metric.value(NodeId(n)) != 0;
    if (nodes.parent[n]) how.kept_subtree[nodes.parent[n].index()] |= kept;
  }
  how.root = nodes.function[0];
  how.keep_sites = keep_sites;
  return regroup(Profile(std::move(parts)), how);
}

}  // namespace

Result<TakenTimes> take_times(const Profile& profile, std::string_view time,
                              std::string_view base_time, bool keep_sites) {
  const auto found = time_metric(profile, time);
  if (!found) return found.error();
  const auto base_found = time_metric(profile, base_time);
  if (!base_found) return base_found.error();
  const Metric& own = **found;
  const Metric& base = **base_found;
  const Metric* calls = profile.find_metric("calls");
  const Nodes& nodes = profile.nodes();
  bool has_calls = false;
  for (std::size_t n = 0; n < nodes.count() && calls != nullptr; ++n) {
    has_calls |= calls->value(NodeId(n)) != 0;
  }
  if (!has_calls) {
    return Error{"", std::nullopt, "--times-from: no calls were counted in this run",
                 "it is for runs with hooks: -pg or -finstrument-functions"};
  }

  const std::vector<FunctionId> owner = owners(profile, *calls);
  std::vector<Dealer> by_time(profile.functions().count()), by_calls(by_time.size());
  std::vector<std::uint64_t> amounts(by_time.size());
  TakenTimes result;
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    const NodeId node(n);
    result.total_ns += base.value(node);
    if (!owner[n]) {
      result.elsewhere_ns += base.value(node);
      continue;
    }
    amounts[owner[n].index()] += base.value(node);
    by_time[owner[n].index()].add_weight(own.value(node));
    if (owner[n] == nodes.function[n]) {
      by_calls[owner[n].index()].add_weight(calls->value(node));
    }
  }
  for (std::size_t f = 0; f < amounts.size(); ++f) {
    (by_time[f].weights() != 0 ? by_time : by_calls)[f].set_amount(amounts[f]);
  }

  auto values = std::make_shared<Counts>(nodes.count());
  values->add(0, result.elsewhere_ns);
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    if (!owner[n]) continue;
    const NodeId node(n);
    const std::size_t f = owner[n].index();
    if (by_time[f].amount() != 0) {
      values->set(n, by_time[f].part_of(own.value(node)));
    } else if (by_calls[f].amount() != 0 && owner[n] == nodes.function[n]) {
      values->set(n, by_calls[f].part_of(calls->value(node)));
    }
  }

  Parts parts = profile.parts();
  std::erase_if(parts.metrics, [&](const Metric& metric) {
    return metric.name == "samples" || (metric.unit == "ns" && metric.name != time &&
                                        !metric.name.starts_with(baseline_name("")));
  });
  for (Metric& metric : parts.metrics) {
    if (metric.name == time) metric.values = values;
  }
  result.profile = without_baseline(Profile(std::move(parts)), keep_sites);
  return result;
}

}  // namespace fbleprof::transform
