// Exact: a profile function for all threads.
#pragma once

#include "adapters/python_interpreter.h"

namespace fbleprof::adapters::python {

// Begins to count, in all threads. False: this interpreter lacks what it needs.
bool start_exact();
bool is_exact();

// At a sample, in the signal handler: threads that C code started get the profile function, and
// those where the program has set one of its own get ours before it.
void claim_this_thread();

}  // namespace fbleprof::adapters::python
