// Names for code that a recorded program generated while it ran.
#pragma once

#include "profile/profile.h"

namespace fbleprof::symbolize {

// Names the functions in no module from the program's perf map (/tmp/perf-PID.map) or jitdump
// (jit-PID.dump, in its working directory or below ~/.debug/jit), if it exists and this process
// wrote it. `profile` is of one process, as read from its file. The functions become
// FunctionKind::kJit.
profile::Profile name_generated_code(const profile::Profile& profile);

}  // namespace fbleprof::symbolize
