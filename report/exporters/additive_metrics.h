// Metrics that may be added up over paths, as every other tool does: peaks may not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "report/exporters/exporter.h"

namespace fbleprof::report {

// All of them. The user's choice comes first, if it is one.
std::vector<const profile::Metric*> additive_metrics(const Export& input);

// Why `what` ("folded", "a flame graph") cannot show the metric's values; "" if they may be added
// up.
std::string why_not_additive(const profile::Metric& metric, std::string_view what);

// An error if the chosen metric may not be added up.
Status check_additive(const Export& input, std::string_view format);

}  // namespace fbleprof::report
