// Code without hooks that calls back into counted code, as qsort does with its comparison.
//
// A counted function hangs below the function with a hook that it was called for, the caller of
// qsort. Its cost is not below the sampled context of qsort, though qsort called it: the inclusive
// value of that context is a lower bound.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

// Sets the marks, by node, of the sampled contexts that a counted call went through: the function
// that holds the call site, and those above it up to the counted caller.
void mark_callbacks(const profile::Profile& profile, std::vector<std::uint8_t>& marks);

}  // namespace fbleprof::analysis
