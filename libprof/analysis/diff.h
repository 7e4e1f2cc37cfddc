// Compares two profiles: the new one and its baseline, merged into one tree, so that each context
// and each function holds both figures.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

// How far two figures can differ by chance alone.
//
// A figure of a sampled metric is a number of samples, with the random spread of counts (Poisson):
// n samples that make up the value v have a standard deviation of at least v / sqrt(n). A figure of
// 0 may have missed a sample, which is worth `value / samples` of the whole. Two runs differ by
// more than that, since the machine has other work. Where each side has several runs, their spread
// is measured: that of the figure itself, and that of the total. Where there is one run per side, a
// change that most functions share is attributed to the machine, up to kLoad, if there are enough
// samples to tell it from chance.
//
// Some formats (folded stacks) do not say what their numbers count. Mostly it is samples, so each
// unit is taken for one, unless most figures are the same in both: samples hardly ever are.
struct Noise {
  bool is_sampled = false;                   // else figures are exact, and any change is one
  bool is_assumed = false;                   // the profiles do not say which of these
  double base_quantum = 0, now_quantum = 0;  // the value of one sample
  double base_spread = 0, now_spread = 0;    // of a run's total: standard deviation / total
  double common = 1;                         // how most functions changed; 1: not beyond chance
  std::size_t base_runs = 1, now_runs = 1;
  // What counts the samples of each side, if it is sampled.
  const profile::Metric *base_samples = nullptr, *now_samples = nullptr;
};
inline constexpr double kLoad = 0.2;

// A figure before and after.
struct Change {
  std::uint64_t base = 0, now = 0;
  bool is_noise = false;                            // chance alone makes such a change
  std::uint64_t base_samples = 0, now_samples = 0;  // of all runs of a side; 0 = unknown or none

  bool did_change() const { return base != now && !is_noise; }
  bool any() const { return base != 0 || now != 0; }
  bool is_new() const { return base == 0 && now != 0; }
  bool is_gone() const { return base != 0 && now == 0; }
  bool grew() const { return now > base; }
  // The absolute difference.
  std::uint64_t size() const { return grew() ? now - base : base - now; }
};

struct DiffMetrics {
  const profile::Metric& now;
  const profile::Metric& base;
  // May be null: at least one of the profiles has no calls.
  const profile::Metric* calls = nullptr;
  const profile::Metric* base_calls = nullptr;
  // Scale the baseline (not its calls) to the total of the new profile, for runs of unequal length.
  bool normalize = false;
  // The totals to scale by: those of both sides, all runs added up, before a filter. 0: those of
  // the profile.
  std::uint64_t whole_now = 0, whole_base = 0;
  // The metrics of each side's runs: then figures are of_runs(). Empty: one run.
  std::vector<const profile::Metric*> base_runs, runs;
  // How many runs of each side counted calls. 0: as many as there are runs.
  std::size_t base_call_runs = 0, call_runs = 0;
  // Null: the metric is not sampled, or the number of samples is unknown.
  const profile::Metric* samples = nullptr;
  const profile::Metric* base_samples = nullptr;
};

struct FunctionChange {
  profile::FunctionId function;
  Change self, dominated, calls;
  bool is_bound = false;  // dominated is a lower bound, in one or both
};

struct Diff {
  Change total;            // before scaling
  double total_bound = 0;  // noise_bound() of the total
  Noise noise;
  // By node. Scaled, if requested.
  std::vector<Change> self, inclusive, calls;
  std::vector<FunctionChange> functions;  // in no order; the root if it has time of its own
};

// `profile` is one tree that holds all four metrics.
Diff diff(const profile::Profile& profile, const DiffMetrics& metrics);

// The effect of chance on the metric's figures. Does not look at functions: `common` is 1.
Noise noise_of(const profile::Profile& profile, const DiffMetrics& metrics);
// How far chance can bring two figures apart, in the metric's unit; 0 for exact figures.
// `base_runs`, `runs`: the figure in each run, if there are several.
double noise_bound(const Noise& noise, const Change& change,
                   const std::vector<std::uint64_t>& base_runs,
                   const std::vector<std::uint64_t>& runs);
// Whether a change is within the noise.
bool is_noise(const Noise& noise, const Change& change, const std::vector<std::uint64_t>& base_runs,
              const std::vector<std::uint64_t>& runs);

// The cost of a set of functions: `self`, or all paths that hold one of them, each once. `matches`
// is by function; empty = all functions.
enum class Extent { kSelf, kDominated };
std::uint64_t cost_of(const profile::Profile& profile, const profile::Metric& metric,
                      const std::vector<std::uint8_t>& matches, Extent extent);

// A side's figure: the mean of its runs, whose figures were added up. Of maxima, which were not, it
// is the greatest of all runs.
std::uint64_t of_runs(const profile::Metric& metric, std::uint64_t all, std::size_t runs);

// value * factor / divisor, rounded; 0 if the divisor is 0.
std::uint64_t scaled(std::uint64_t value, std::uint64_t factor, std::uint64_t divisor);

}  // namespace fbleprof::analysis
