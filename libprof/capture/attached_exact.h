// Exact counts in a program to which `fble-prof attach --exact` attached (format/exact_order.h).
//
// Everything is prepared here while the program runs: trampolines, and a list of changes of the
// text. fble-prof makes these changes while all threads are stopped. A thread that ran before gets
// its shadow stack at its first hook, and catches up there (signal_safe/late_start.h), so returns
// into functions that were entered before do no harm.
#pragma once

#include "format/exact_order.h"

namespace fbleprof::capture {

// Obeys an order, and writes the answer. In a thread that fble-prof has stopped, with all signals
// blocked.
void prepare_exact(format::ExactOrder& order);

}  // namespace fbleprof::capture
