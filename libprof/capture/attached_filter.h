// --only and --not in a program to which `fble-prof attach` attached (format/recorder_order.h).
#pragma once

#include "format/recorder_order.h"

namespace fbleprof::capture {

// Obey these steps of an order.
void name_unfiltered(format::RecorderOrder& order);
void filter(format::RecorderOrder& order);

}  // namespace fbleprof::capture
