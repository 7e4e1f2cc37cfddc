// Metrics that may be added up over paths, as every other tool does: peaks may not.
#pragma once

#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "report/exporters/exporter.h"

namespace fbleprof::report {

// All of them. The user's choice comes first, if it is one.
std::vector<const profile::Metric*> additive_metrics(const Export& input);

// An error if the chosen metric may not be added up.
Status check_additive(const Export& input, std::string_view format);

}  // namespace fbleprof::report
