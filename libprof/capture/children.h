// Which processes of a run are recorded: FBLEPROF_CHILDREN.
#pragma once

#include "capture/options.h"

namespace fbleprof::capture {

// Whether this process is to be recorded: it is the one that fble-prof started, also after an exec,
// or one of its children that the setting names by the file name of their program.
bool is_wanted(const Settings& settings);

}  // namespace fbleprof::capture
