// pprof's names for what is measured.
#pragma once

#include <string>

#include "profile/profile.h"

namespace fbleprof::report {

// The name of a metric's sample type: for memory those of profile/pprof_sample_types.h. Escaped.
std::string sample_type(const profile::Metric& metric);

}  // namespace fbleprof::report
