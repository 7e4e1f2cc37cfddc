// The metric that a profile is about.
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace fbleprof::analysis {

// The metric to show unless another is requested: the metric that the file declares as default;
// else the profile's clock; else, if the clock measured nothing, the first metric that is not
// empty and no maximum. An imported profile has no clock: the first such metric. Null: there is no
// metric.
const profile::Metric* default_metric(const profile::Profile& profile);

// The metric that a user calls `name`: the one of that name, or else the samples of the event of
// that name, whose periods the file does not hold (perf script's "cpu-clock samples"). Null: there
// is none.
const profile::Metric* metric_called(const profile::Profile& profile, std::string_view name);

// The metric of the clock by which `process` was sampled, or null.
const profile::Metric* clock_metric(const profile::Profile& profile,
                                    const profile::Process& process);

}  // namespace fbleprof::analysis
