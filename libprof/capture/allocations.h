// The recording of allocations, as far as the process is concerned: whose allocator is wrapped, and
// the memory for it. capture/leaks does what is left to do at the end.
#pragma once

#include "capture/options.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Finds out whose allocator is wrapped. Turns the recording off, with a complaint, where nothing
// is. Once, before the profile is opened.
void find_allocator(Settings& settings);

// Starts the tables of a new profile. False: there is no memory for them.
bool start_allocations(const Settings& settings);

// A thread's memory for it; true, too, if allocations are not recorded.
bool provide_allocations(signal_safe::ThreadState& state);

}  // namespace fbleprof::capture
