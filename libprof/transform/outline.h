// A profile without its contexts: what ran and how much, for views of runs and threads.
#pragma once

#include "profile/profile.h"

namespace fbleprof::transform {

// Processes, threads, warnings, and trees without nodes, which keep their figures (Tree::figures).
// The size does not depend on that of the trees, so thousands of outlines fit in memory.
profile::Profile outline(const profile::Profile& profile);

}  // namespace fbleprof::transform
