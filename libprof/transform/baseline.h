// A profile made ready to stand beside the one that is compared with it.
#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of a metric of the baseline.
std::string baseline_name(std::string_view metric);

// The same profile, its metrics renamed so that joining (join.h) and merging (merge.h) it with
// another one keeps the values of both apart, node by node. The calls of its edges become a metric
// like the others; its edges, then, have none.
profile::Profile as_baseline(const profile::Profile& profile);

// The same profile, with a copy of a metric that joining keeps apart from those of other runs: what
// run `number` held. Nothing if there is no such metric.
std::string run_name(std::size_t number);
profile::Profile as_run(const profile::Profile& profile, std::string_view metric,
                        std::size_t number);

// Whether a profile's only metric is one of which its format does not say what it is, as that of
// folded stacks.
bool has_unnamed_metric(const profile::Profile& profile);

// The same profile, whose only metric is called and means what `like` does.
profile::Profile with_metric_like(const profile::Profile& profile, const profile::Metric& like);

}  // namespace fbleprof::transform
