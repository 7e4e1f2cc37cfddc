// Ensures that every sum over a profile fits 64 bits.
//
// Views add values up in many ways, but no sum holds a value twice: if the sum of all fits, every
// other does. So it is checked once, where a profile is made, and nowhere else. Only damaged files,
// and imports of invented numbers, hold more: 2^64 ns are 584 years.
#pragma once

#include <set>
#include <string>

#include "profile/profile.h"

namespace fbleprof::profile {

// Leaves out the excess over 2^64 - 1 of each metric that adds up and of each figure of threads,
// beginning with the last nodes or threads, each with a warning. `calls` is that of the edges.
// `cut_before`: metrics of which something was left out already.
void fit_sums(Parts& parts, const std::string& file, const std::set<std::string>& cut_before = {});

}  // namespace fbleprof::profile
