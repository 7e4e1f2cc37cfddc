// The launcher's part of --exact. The recorder calls it again for libraries and children that the
// launcher did not know.
#pragma once

#include <string>

namespace fbleprof::launch {

// The folder of plans: $XDG_CACHE_HOME/fbleprof, else ~/.cache/fbleprof, else a folder of the
// user's own under /tmp; or the folder `part` ("/NAME") in it. Creates it. "" if none is possible.
std::string plan_folder(const std::string& part = "");

// fble-prof --plan PLAN MODULE [PLAN MODULE ...]: makes the plans of these modules. Shows progress
// on a terminal. Returns the exit status.
int make_plans(int count, char** words);

// The bytes of the plan of one module; makes it if there is none. `stem` begins its path: the
// folder,
// "/", and the build-id if it has one. "" if the plan cannot be made, or kept.
std::string plan_of(const std::string& stem, const std::string& module);

// The path of this program's file, which the recorder calls.
std::string own_path();

}  // namespace fbleprof::launch
