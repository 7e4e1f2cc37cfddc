// Exact: a profile function for all threads.
#pragma once

#include "adapters/python_interpreter.h"

namespace fbleprof::adapters::python {

// Begins to count, in all threads. False: this interpreter lacks a needed function.
bool start_exact();
bool is_exact();

// At a sample, in the signal handler: installs the profile function in threads that C code started,
// and installs ours before a profile function that the program has set.
void claim_this_thread();

}  // namespace fbleprof::adapters::python
