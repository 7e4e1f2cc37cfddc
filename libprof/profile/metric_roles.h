// Roles of metrics that have only a name.
#pragma once

#include <string_view>

#include "format/role.h"

namespace fbleprof::profile {

// The role of a metric that a file names without saying what it measures.
format::Role role_for_name(std::string_view name, std::string_view unit);

}  // namespace fbleprof::profile
