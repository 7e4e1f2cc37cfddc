// Several profiles in one: all processes, threads and trees side by side.
#pragma once

#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// Modules of the same path and build-id become one, functions of the same module and address (or,
// without a module, of the same name) too. Metrics are matched by name; one that a profile lacks is
// zero there. Warnings of all are kept.
profile::Profile join(const std::vector<profile::Profile>& profiles);

}  // namespace fbleprof::transform
