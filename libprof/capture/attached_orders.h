// What `fble-prof attach` orders the recorder in a running program to do (format/recorder_order.h).
#pragma once

#include "format/recorder_order.h"

namespace fbleprof::capture {

// Obeys an order, and writes the answer. In a thread that fble-prof has stopped, with all signals
// blocked.
void obey_order(format::RecorderOrder& order);

}  // namespace fbleprof::capture
