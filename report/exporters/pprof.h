// pprof's names for what is measured.
#pragma once

#include <string>

#include "profile/profile.h"

namespace fbleprof::report {

// The name of a metric's sample type: for memory those that Go and tcmalloc use, because viewers of
// heap profiles look for them. Escaped.
std::string sample_type(const profile::Metric& metric);

}  // namespace fbleprof::report
