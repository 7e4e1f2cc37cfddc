// What every reader of a recorded profile does before anything else.
#pragma once

#include "profile/profile.h"

namespace fbleprof::transform {

// What was counted since the last reset, with the memory in use at the peak as a metric, and waits
// for work apart. `profile` must hold the trees of its threads, as recorded.
profile::Profile as_shown(const profile::Profile& profile);

}  // namespace fbleprof::transform
