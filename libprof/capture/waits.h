// The process-wide part of recording waits: whether the blocking calls are wrapped, and the memory.
#pragma once

#include "capture/options.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Decides whether waits are recorded, and makes the wrappers find the functions that they wrap.
// Call it once, before the profile is opened, and after all else that adds words to a row of
// values.
void find_wrappers(Settings& settings);

// Gives a thread its memory for waits. Also true if waits are not recorded.
bool provide_waits(signal_safe::ThreadState& state);

}  // namespace fbleprof::capture
