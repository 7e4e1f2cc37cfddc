// Advice about functions without names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::report {

struct MissingNames {
  // One line that names the libraries whose functions have no names, and the packages that would
  // help; "" = little of the metric is in such functions.
  std::string advice;
  std::vector<std::string> modules;  // these libraries, without their directories

  // Whether a text names a function of these libraries by its offset.
  bool matter_in(std::string_view text) const;
};

// Leaves out modules whose file is gone or was rebuilt: a warning of the profile tells of these.
MissingNames missing_names(const profile::Profile& profile, const profile::Metric& metric);

}  // namespace fbleprof::report
