#include "analysis/diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <optional>
#include <utility>

#include "analysis/costs.h"
#include "analysis/functions.h"
#include "base/at_once.h"

namespace fbleprof::analysis {

using namespace profile;

namespace {

using Wide = unsigned __int128;

// Standard deviations beyond which a change counts as real. A profile has hundreds of functions:
// some exceed three by chance.
constexpr double kCertain = 4;

double mean(const std::vector<std::uint64_t>& values) {
  double sum = 0;
  for (const std::uint64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

// The spread of single values, from a sample of them; 0 for fewer than two.
double deviation(const std::vector<std::uint64_t>& values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const std::uint64_t value : values) {
    const double apart = static_cast<double>(value) - middle;
    squares += apart * apart;
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// The variance of a side's figure, which is the mean of its runs. `samples`: in all runs.
double variance(double value, double quantum, std::uint64_t samples, double spread,
                std::size_t runs, const std::vector<std::uint64_t>& by_run) {
  // A few samples may be worth much more than the mean one: time in the kernel is charged to the
  // next sample.
  const double in_a_run = static_cast<double>(samples) / static_cast<double>(runs);
  const double counting =
      std::max(quantum * (value + quantum), samples == 0 ? 0 : value * value / in_a_run);
  const double own = deviation(by_run), shared = spread * value;
  return std::max({counting, own * own, shared * shared}) / static_cast<double>(runs);
}

std::vector<std::uint64_t> values_at(const std::vector<std::vector<std::uint64_t>>& runs,
                                     std::size_t i) {
  std::vector<std::uint64_t> values;
  values.reserve(runs.size());
  for (const std::vector<std::uint64_t>& run : runs) values.push_back(run[i]);
  return values;
}

// The typical change of time: the ratio that half of the time exceeds.
double common_ratio(const std::vector<FunctionChange>& functions, double least) {
  std::vector<std::pair<double, double>> ratios;  // and their weight
  double all = 0;
  for (const FunctionChange& f : functions) {
    const auto base = static_cast<double>(f.self.base);
    if (base < least) continue;
    ratios.emplace_back(static_cast<double>(f.self.now) / base, base);
    all += base;
  }
  std::sort(ratios.begin(), ratios.end());
  double passed = 0;
  for (const auto& [ratio, weight] : ratios) {
    passed += weight;
    if (passed * 2 >= all) return std::abs(ratio - 1) <= kLoad ? ratio : 1;
  }
  return 1;
}

// How far chance brings the ratio of two medians from 1. The standard deviation of a median is 1.25
// times that of a mean.
double ratio_bound(std::uint64_t base_samples, std::uint64_t now_samples) {
  if (base_samples == 0 || now_samples == 0) return 0;
  return kCertain * 1.25 *
         std::sqrt(1 / static_cast<double>(base_samples) + 1 / static_cast<double>(now_samples));
}

std::vector<std::uint64_t> own_values(const Profile& profile, const Metric* metric) {
  if (metric == nullptr || !metric->values) {
    return std::vector<std::uint64_t>(profile.nodes().count());
  }
  return metric->values->wide();
}

}  // namespace

std::uint64_t scaled(std::uint64_t value, std::uint64_t factor, std::uint64_t divisor) {
  if (divisor == 0) return 0;
  const Wide result = (Wide{value} * factor + divisor / 2) / divisor;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return result > kMost ? kMost : static_cast<std::uint64_t>(result);
}

std::uint64_t of_runs(const Metric& metric, std::uint64_t all, std::size_t runs) {
  return runs == 1 || metric.aggregation == Aggregation::kMax ? all : scaled(all, 1, runs);
}

namespace {

// By its weight, most of what may be many samples is equal on both sides.
bool is_mostly_equal(const std::vector<std::uint64_t>& base,
                     const std::vector<std::uint64_t>& now) {
  constexpr std::uint64_t kMany = 20;
  std::uint64_t equal = 0, different = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::uint64_t larger = std::max(base[i], now[i]);
    if (larger >= kMany) (base[i] == now[i] ? equal : different) += larger;
  }
  return equal > different;
}

// What counts the samples that the metric's figures are from.
void find_samples(const Profile& profile, const DiffMetrics& metrics, Noise& noise) {
  const Metric& metric = metrics.now;
  if (metric.role == Role::kCpuTime || metric.role == Role::kWallTime ||
      metric.role == Role::kSamples) {
    noise.base_samples = metrics.base_samples;
    noise.now_samples = metrics.samples;
  } else if (metric.role == Role::kAmount && metric.unit == "count") {
    noise.is_assumed = true;
    if (is_mostly_equal(own_values(profile, &metrics.base), own_values(profile, &metric))) return;
    noise.base_samples = &metrics.base;
    noise.now_samples = &metric;
  }
}

}  // namespace

Noise noise_of(const Profile& profile, const DiffMetrics& metrics) {
  Noise noise;
  noise.base_runs = std::max<std::size_t>(metrics.base_runs.size(), 1);
  noise.now_runs = std::max<std::size_t>(metrics.runs.size(), 1);
  find_samples(profile, metrics, noise);
  if (noise.base_samples == nullptr || noise.now_samples == nullptr) return noise;
  const auto quantum = [&](const Metric& metric, const Metric& samples) {
    const std::uint64_t count = total(profile, samples);
    return count == 0 ? 0
                      : static_cast<double>(total(profile, metric)) / static_cast<double>(count);
  };
  noise.base_quantum = quantum(metrics.base, *noise.base_samples);
  noise.now_quantum = quantum(metrics.now, *noise.now_samples);
  noise.is_sampled = noise.base_quantum != 0 && noise.now_quantum != 0;
  const auto spread = [&](const std::vector<const Metric*>& runs) {
    std::vector<std::uint64_t> totals;
    for (const Metric* run : runs) totals.push_back(total(profile, *run));
    const double middle = totals.empty() ? 0 : mean(totals);
    return middle == 0 ? 0 : deviation(totals) / middle;
  };
  // Only one side may have run on a quiet machine.
  noise.base_spread = noise.now_spread = std::max(spread(metrics.base_runs), spread(metrics.runs));
  return noise;
}

double noise_bound(const Noise& noise, const Change& change,
                   const std::vector<std::uint64_t>& base_runs,
                   const std::vector<std::uint64_t>& runs) {
  if (!noise.is_sampled) return 0;
  const auto base = static_cast<double>(change.base), now = static_cast<double>(change.now);
  return kCertain * std::sqrt(variance(base, noise.base_quantum, change.base_samples,
                                       noise.base_spread, noise.base_runs, base_runs) +
                              variance(now, noise.now_quantum, change.now_samples, noise.now_spread,
                                       noise.now_runs, runs));
}

bool is_noise(const Noise& noise, const Change& change, const std::vector<std::uint64_t>& base_runs,
              const std::vector<std::uint64_t>& runs) {
  if (!noise.is_sampled) return false;
  const auto base = static_cast<double>(change.base), now = static_cast<double>(change.now);
  const double bound = noise_bound(noise, change, base_runs, runs);
  return std::abs(now - base) <= bound || std::abs(now - noise.common * base) <= bound;
}

namespace {

// The comparison under construction: one side's figures beside the other's, run by run.
class Comparison {
 public:
  Comparison(const Profile& profile, const DiffMetrics& metrics)
      : profile_(profile), metrics_(metrics) {}

  Diff compare() {
    result_.noise = noise_of(profile_, metrics_);
    const bool is_sampled = result_.noise.is_sampled;
    std::optional<Costs> base, now;
    at_once(profile_.nodes().count(), {[&] { base.emplace(profile_, metrics_.base); },
                                       [&] { now.emplace(profile_, metrics_.now); },
                                       [&] {
                                         if (is_sampled)
                                           base_samples_.emplace(profile_,
                                                                 *result_.noise.base_samples);
                                       },
                                       [&] {
                                         if (is_sampled)
                                           samples_.emplace(profile_, *result_.noise.now_samples);
                                       }});
    const Costs &base_costs = *base, &now_costs = *now;
    result_.total = {of_runs(metrics_.base, base_costs.total(), result_.noise.base_runs),
                     now_value(now_costs.total())};
    if (is_sampled) {
      result_.total.base_samples = base_samples_->total();
      result_.total.now_samples = samples_->total();
    }
    for (const Metric* run : metrics_.base_runs) base_runs_.emplace_back(profile_, *run);
    for (const Metric* run : metrics_.runs) runs_.emplace_back(profile_, *run);
    compare_functions(base_costs, now_costs);
    compare_nodes(base_costs, now_costs);
    result_.total.is_noise =
        is_noise(result_.noise, result_.total, totals(base_runs_), totals(runs_));
    result_.total_bound =
        noise_bound(result_.noise, result_.total, totals(base_runs_), totals(runs_));
    return std::move(result_);
  }

 private:
  std::uint64_t base_value(std::uint64_t all) const {
    const std::uint64_t value = of_runs(metrics_.base, all, result_.noise.base_runs);
    if (!metrics_.normalize) return value;
    if (metrics_.whole_base == 0) return scaled(value, result_.total.now, result_.total.base);
    return scaled(value, now_value(metrics_.whole_now),
                  of_runs(metrics_.base, metrics_.whole_base, result_.noise.base_runs));
  }
  std::uint64_t now_value(std::uint64_t all) const {
    return of_runs(metrics_.now, all, result_.noise.now_runs);
  }

  static std::vector<std::uint64_t> totals(const std::list<Costs>& runs) {
    std::vector<std::uint64_t> all;
    for (const Costs& run : runs) all.push_back(run.total());
    return all;
  }

  Change mean_calls(std::uint64_t base, std::uint64_t now) const {
    const auto runs = [](std::size_t of_calls, std::size_t all) {
      return of_calls != 0 ? of_calls : all;
    };
    return {scaled(base, 1, runs(metrics_.base_call_runs, result_.noise.base_runs)),
            scaled(now, 1, runs(metrics_.call_runs, result_.noise.now_runs))};
  }

  // Returns the same by function. A function's mean is that of all its calls: the means of its
  // contexts are rounded, so their sum may be far off.
  std::vector<Change> compare_calls() {
    const std::vector<std::uint64_t> base = own_values(profile_, metrics_.base_calls);
    const std::vector<std::uint64_t> now = own_values(profile_, metrics_.calls);
    result_.calls.resize(now.size());
    std::vector<Change> of_functions(profile_.functions().count());
    for (std::size_t n = 0; n < now.size(); ++n) {
      result_.calls[n] = mean_calls(base[n], now[n]);
      Change& all = of_functions[profile_.nodes().function[n].index()];
      all.base += base[n];
      all.now += now[n];
    }
    for (Change& all : of_functions) all = mean_calls(all.base, all.now);
    return of_functions;
  }

  using Rows = std::vector<FunctionRow>;

  // By function. All tables are of one tree, but the root has a row only where it has time of its
  // own; all else is below it all the same.
  Rows rows_of(const Costs& costs) const {
    Rows rows(profile_.functions().count());
    const Nodes& nodes = profile_.nodes();
    if (nodes.count() != 0) rows[nodes.function[0].index()].dominated = costs.total();
    for (const FunctionRow& row : function_table(costs)) rows[row.function.index()] = row;
    return rows;
  }

  void compare_functions(const Costs& base_costs, const Costs& now_costs) {
    Rows base, now, base_samples, samples;
    at_once(profile_.nodes().count(),
            {[&] { base = rows_of(base_costs); }, [&] { now = rows_of(now_costs); },
             [&] {
               if (samples_) base_samples = rows_of(*base_samples_);
             },
             [&] {
               if (samples_) samples = rows_of(*samples_);
             }});
    std::vector<Rows> base_runs, runs;
    for (const Costs& run : base_runs_) base_runs.push_back(rows_of(run));
    for (const Costs& run : runs_) runs.push_back(rows_of(run));
    const std::vector<Change> calls = compare_calls();
    std::vector<FunctionChange>& changes = result_.functions;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!base[i].function && !now[i].function) continue;
      FunctionChange& change = changes.emplace_back();
      change.function = FunctionId(i);
      change.self = {base_value(base[i].self), now_value(now[i].self)};
      change.dominated = {base_value(base[i].dominated), now_value(now[i].dominated)};
      if (samples_) {
        change.self.base_samples = base_samples[i].self;
        change.self.now_samples = samples[i].self;
        change.dominated.base_samples = base_samples[i].dominated;
        change.dominated.now_samples = samples[i].dominated;
      }
      change.calls = calls[change.function.index()];
      change.is_bound = now[i].dominated_is_bound;
    }
    Noise& noise = result_.noise;
    if (noise.is_sampled && noise.base_runs == 1 && noise.now_runs == 1) {
      constexpr double kEnoughSamples = 20;
      const double common = common_ratio(changes, kEnoughSamples * noise.base_quantum);
      const Change& all = result_.total;
      if (std::abs(common - 1) > ratio_bound(all.base_samples, all.now_samples)) {
        noise.common = common;
      }
    }
    const auto column = [](const std::vector<Rows>& tables, FunctionId f,
                           std::uint64_t FunctionRow::*figure) {
      std::vector<std::uint64_t> values;
      for (const Rows& table : tables) values.push_back(table[f.index()].*figure);
      return values;
    };
    for (FunctionChange& change : changes) {
      const FunctionId f = change.function;
      change.self.is_noise = is_noise(noise, change.self, column(base_runs, f, &FunctionRow::self),
                                      column(runs, f, &FunctionRow::self));
      change.dominated.is_noise =
          is_noise(noise, change.dominated, column(base_runs, f, &FunctionRow::dominated),
                   column(runs, f, &FunctionRow::dominated));
    }
  }

  void compare_nodes(const Costs& base_costs, const Costs& now_costs) {
    at_once(profile_.nodes().count(),
            {[&] { compare_self(); }, [&] { compare_inclusive(base_costs, now_costs); }});
  }

  void compare_self() {
    std::vector<std::vector<std::uint64_t>> base_runs, runs;
    for (const Metric* run : metrics_.base_runs) base_runs.push_back(own_values(profile_, run));
    for (const Metric* run : metrics_.runs) runs.push_back(own_values(profile_, run));
    std::vector<std::uint64_t> base_samples, samples;
    if (samples_) {
      base_samples = own_values(profile_, metrics_.base_samples);
      samples = own_values(profile_, metrics_.samples);
    }
    result_.self = side_by_side({own_values(profile_, &metrics_.base), base_samples, base_runs},
                                {own_values(profile_, &metrics_.now), samples, runs});
  }

  void compare_inclusive(const Costs& base_costs, const Costs& now_costs) {
    std::vector<std::vector<std::uint64_t>> base_runs, runs;
    for (const Costs& run : base_runs_) base_runs.push_back(run.inclusive());
    for (const Costs& run : runs_) runs.push_back(run.inclusive());
    const std::vector<std::uint64_t> unknown;
    result_.inclusive = side_by_side(
        {base_costs.inclusive(), samples_ ? base_samples_->inclusive() : unknown, base_runs},
        {now_costs.inclusive(), samples_ ? samples_->inclusive() : unknown, runs});
  }

  // By node: a side's figures, their samples (empty: unknown), and the figures of each run.
  struct Figures {
    const std::vector<std::uint64_t>& values;
    const std::vector<std::uint64_t>& samples;
    const std::vector<std::vector<std::uint64_t>>& runs;
  };

  std::vector<Change> side_by_side(const Figures& base, const Figures& now) const {
    std::vector<Change> changes(now.values.size());
    for (std::size_t i = 0; i < now.values.size(); ++i) {
      changes[i] = {base_value(base.values[i]), now_value(now.values[i])};
      if (samples_) {
        changes[i].base_samples = base.samples[i];
        changes[i].now_samples = now.samples[i];
      }
      if (changes[i].size() == 0) continue;
      changes[i].is_noise =
          is_noise(result_.noise, changes[i], values_at(base.runs, i), values_at(now.runs, i));
    }
    return changes;
  }

  const Profile& profile_;
  const DiffMetrics& metrics_;
  Diff result_;
  std::list<Costs> base_runs_, runs_;            // they cannot be moved
  std::optional<Costs> base_samples_, samples_;  // none: figures are exact
};

}  // namespace

Diff diff(const Profile& profile, const DiffMetrics& metrics) {
  return Comparison(profile, metrics).compare();
}

std::uint64_t cost_of(const Profile& profile, const Metric& metric,
                      const std::vector<std::uint8_t>& matches, Extent extent) {
  if (matches.empty()) return total(profile, metric);
  const Nodes& nodes = profile.nodes();
  const std::vector<std::uint64_t> cost =
      extent == Extent::kSelf ? own_values(profile, &metric) : inclusive(profile, metric);
  const bool is_max = metric.aggregation == Aggregation::kMax;
  std::uint64_t sum = 0;
  for (std::size_t n = 0; n < nodes.count();) {
    if (matches[nodes.function[n].index()] == 0) {
      ++n;
      continue;
    }
    sum = is_max ? std::max(sum, cost[n]) : sum + cost[n];
    // Preorder: the cost below the outermost match is included in the match's cost.
    n = extent == Extent::kDominated ? nodes.subtree_end[n] : n + 1;
  }
  return sum;
}

}  // namespace fbleprof::analysis
