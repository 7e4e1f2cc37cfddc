// Names of generated code from the program's jitdump (Linux's jitdump-specification.txt): records
// of code that was loaded or moved, with times.
#pragma once

#include "capture/generated_functions.h"

namespace fbleprof::capture {

// Finds jit-PID.dump where the program maps it, as perf demands; else in the working directory, in
// /tmp, or in a directory of $JITDUMPDIR/.debug/jit ($HOME by default). Reads at most 256 MB.
// Ignores files of other users, and older ones. Async-signal-safe; opens descriptors for that time.
void name_by_jitdump(GeneratedFunctions& functions);

}  // namespace fbleprof::capture
