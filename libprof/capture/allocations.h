// The process-wide part of recording allocations: whose allocator is wrapped, and the memory for
// the tables. capture/leaks does the rest at the end.
#pragma once

#include "capture/options.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Finds out whose allocator is wrapped. If none is, turns the recording of allocations off, with a
// complaint. Call it once, before the profile is opened.
void find_allocator(Settings& settings);

// Creates the tables of a new profile. False: there is no memory for them.
bool start_allocations(const Settings& settings);

// Gives a thread its memory for allocations. Also true if allocations are not recorded.
bool provide_allocations(signal_safe::ThreadState& state);

}  // namespace fbleprof::capture
