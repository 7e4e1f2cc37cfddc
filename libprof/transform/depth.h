// A profile as if it had been recorded with a depth limit.
//
// Two profiles recorded with different limits hold the same calls under different contexts.
// Reducing both to the smaller limit makes them comparable.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace fbleprof::transform {

// The smallest depth limit that a process was recorded with; 0 = none had one.
std::uint32_t depth_limit(const profile::Profile& profile);

// Moves contexts deeper than `limit` to where the recorder would have counted them: below the
// ancestor at the limit, under [deeper], by caller and callee.
profile::Profile fold_deeper(const profile::Profile& profile, std::uint32_t limit);

}  // namespace fbleprof::transform
