// Names of generated code from the map that the program writes for perf, /tmp/perf-PID.map: lines
// of "START SIZE NAME", in hexadecimal.
#pragma once

#include "capture/generated_functions.h"

namespace fbleprof::capture {

// Reads at most 256 MB. Ignores a map of another user, or one that was last written before this
// profile began. Async-signal-safe; opens a descriptor for that time.
void name_by_perf_map(GeneratedFunctions& functions);

}  // namespace fbleprof::capture
