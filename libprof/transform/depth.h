// A profile as it would have been recorded with a limit of depth.
//
// Two profiles recorded with different limits hold the same calls under different contexts. Brought
// to the smaller limit, they can be compared.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace fbleprof::transform {

// The smallest limit of depth that one of the processes was recorded with; 0 = none had one.
std::uint32_t depth_limit(const profile::Profile& profile);

// Contexts deeper than `limit` go where the recorder would have counted them: below the ancestor at
// the limit, under [deeper], by caller and callee.
profile::Profile fold_deeper(const profile::Profile& profile, std::uint32_t limit);

}  // namespace fbleprof::transform
