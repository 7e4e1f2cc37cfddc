// Which processes of a run are recorded: FBLEPROF_CHILDREN.
#pragma once

#include "capture/options.h"

namespace fbleprof::capture {

// Whether this process is to be recorded: fble-prof started it (an exec does not change that), or
// it is a child whose program's file name matches the setting.
bool is_wanted(const Settings& settings);

}  // namespace fbleprof::capture
