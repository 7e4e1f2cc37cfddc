// Advice about functions without names.
#pragma once

#include <string>

#include "profile/profile.h"

namespace fbleprof::report {

// One line that names the libraries whose functions have no names, and the packages that would
// help; "" = little of `metric` is in such functions.
std::string missing_names(const profile::Profile& profile, const profile::Metric& metric);

}  // namespace fbleprof::report
