// --only and --not in a program to which `fble-prof attach` attached (format/exact_order.h).
#pragma once

#include "format/exact_order.h"

namespace fbleprof::capture {

// Obey these steps of an order.
void name_unfiltered(format::ExactOrder& order);
void filter(format::ExactOrder& order);

}  // namespace fbleprof::capture
