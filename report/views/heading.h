// The lines above the tree and the overview. Both take the runs as recorded, one tree per thread.
#pragma once

#include <string>

#include "profile/profile.h"
#include "report/text/look.h"

namespace fbleprof::report {

// One or two lines: what ran, how long, at which rate, at what cost.
std::string heading(const profile::Profile& runs, const Look& look);

// For several files: each one's amount of the metric. Empty for one.
std::string process_split(const profile::Profile& runs, const profile::Metric& metric,
                          const Look& look);

}  // namespace fbleprof::report
