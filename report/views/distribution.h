// Tables of distributions, made of metrics that each count one class.
#pragma once

#include <string_view>

#include "report/views/view.h"

namespace fbleprof::report {

// The classes are the metrics whose names begin with `prefix`. `counted`: what they count, as key
// and title of its column.
Table distribution(const Request& request, std::string_view key, std::string_view title,
                   std::string_view prefix, std::string_view counted);

}  // namespace fbleprof::report
