// Exact counts in a program to which `fble-prof attach --exact` attached (format/recorder_order.h).
//
// Everything is prepared here while the program runs: trampolines, and a list of changes of the
// text. fble-prof makes these changes while all threads are stopped. A thread that ran before gets
// its shadow stack at its first hook, and catches up there (signal_safe/late_start.h), so returns
// into functions that were entered before do no harm.
#pragma once

#include "format/recorder_order.h"

namespace fbleprof::capture {

// Why exact counts cannot be prepared now; null: they can.
const char* obstacle_to_counting();

// Obey these steps of an order.
void choose_modules(format::RecorderOrder& order);
void prepare_counting(format::RecorderOrder& order);
void finish_counting();

}  // namespace fbleprof::capture
