// --exact: what the launcher does for it, and for the recorder, which calls it again for libraries
// and children that it did not know of.
#pragma once

#include <string>

namespace fbleprof::launch {

// Where plans are kept: $XDG_CACHE_HOME/fbleprof, else ~/.cache/fbleprof, else a folder of the
// user's own under /tmp. Makes it. "" if no folder can be had.
std::string plan_folder();

// fble-prof --plan PLAN MODULE [PLAN MODULE ...]: makes the plans of these modules. Shows progress
// on a terminal. The exit status.
int make_plans(int count, char** words);

// The text of this program's file, which the recorder calls.
std::string own_path();

}  // namespace fbleprof::launch
