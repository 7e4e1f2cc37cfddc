// Names for the code that a recorded program made while it ran.
#pragma once

#include "profile/profile.h"

namespace fbleprof::symbolize {

// The profile of one process, as read from its file: functions in no module get what the program's
// perf map (/tmp/perf-PID.map) or jitdump (jit-PID.dump, in its working directory or below
// ~/.debug/jit) says, if that is there and was written by this process. They become
// FunctionKind::kJit.
profile::Profile name_generated_code(const profile::Profile& profile);

}  // namespace fbleprof::symbolize
