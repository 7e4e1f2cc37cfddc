// Prepares a profile as the baseline of a comparison.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of a metric of the baseline.
std::string baseline_name(std::string_view metric);

// The same profile with renamed metrics, so that joining (join.h) and merging (merge.h) it with
// another profile keeps the values of both apart, node by node. The calls of its edges become an
// ordinary metric; the edges then have none.
profile::Profile as_baseline(const profile::Profile& profile);

// The same for a part of a profile that is joined with it once more: take_times.h leaves the part's
// times as they are.
std::string unchanged_name(std::string_view metric);
profile::Profile as_unchanged(const profile::Profile& profile);

// The same profile with copies of some of its metrics that joining keeps apart from those of other
// runs: the values of run `number`. `metrics`: their names; those that it does not have are
// nothing.
std::string run_name(std::size_t number, std::string_view metric);
// Whether `name` is run_name() of any run.
bool is_of_run(std::string_view name, std::string_view metric);
profile::Profile as_run(const profile::Profile& profile, std::span<const std::string> metrics,
                        std::size_t number);

// Whether the profile has a single metric whose meaning its format does not tell, as with folded
// stacks.
bool has_unnamed_metric(const profile::Profile& profile);

// The same profile, its only metric renamed to `like` and given its meaning. Calls become those of
// the edges to the nodes.
profile::Profile with_metric_like(const profile::Profile& profile, const profile::Metric& like);

}  // namespace fbleprof::transform
