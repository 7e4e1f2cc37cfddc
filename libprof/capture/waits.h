// The recording of waits, as far as the process is concerned: whether the calls that block are
// wrapped, and the memory for it.
#pragma once

#include "capture/options.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Decides whether waits are recorded, and lets the wrappers find what they wrap. Once, before the
// profile is opened, and after what else adds to a row of values.
void find_wrappers(Settings& settings);

// A thread's memory for it; true, too, if waits are not recorded.
bool provide_waits(signal_safe::ThreadState& state);

}  // namespace fbleprof::capture
