// Two profiles compared: the new one and its baseline, merged into one tree, so that each context
// and each function holds both figures.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

// A figure before and after.
struct Change {
  std::uint64_t base = 0, now = 0;

  bool any() const { return base != 0 || now != 0; }
  bool is_new() const { return base == 0 && now != 0; }
  bool is_gone() const { return base != 0 && now == 0; }
  bool grew() const { return now > base; }
  // How far apart they are, in whatever direction.
  std::uint64_t size() const { return grew() ? now - base : base - now; }
};

struct DiffMetrics {
  const profile::Metric& now;
  const profile::Metric& base;
  // May be null: there are no calls, or none in one of them.
  const profile::Metric* calls = nullptr;
  const profile::Metric* base_calls = nullptr;
  // Scale the baseline (not its calls) to the total of the new profile: for runs of unequal length.
  bool normalize = false;
};

struct FunctionChange {
  profile::FunctionId function;
  Change self, dominated, calls;
  bool is_bound = false;  // dominated is a lower bound, in one or both
};

struct Diff {
  Change total;  // before scaling
  // By node. Scaled, if that was asked for.
  std::vector<Change> self, inclusive, calls;
  std::vector<FunctionChange> functions;  // without the root, in no order
};

// `profile` is one tree that holds all four metrics.
Diff diff(const profile::Profile& profile, const DiffMetrics& metrics);

// What a set of functions costs together: `self`, or all paths that hold one of them, each once.
// `matches` is by function; empty = all functions.
enum class Extent { kSelf, kDominated };
std::uint64_t cost_of(const profile::Profile& profile, const profile::Metric& metric,
                      const std::vector<std::uint8_t>& matches, Extent extent);

// value * factor / divisor, rounded; 0 if the divisor is 0.
std::uint64_t scaled(std::uint64_t value, std::uint64_t factor, std::uint64_t divisor);

}  // namespace fbleprof::analysis
