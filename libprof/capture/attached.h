// The profile of a program that was running when `fble-prof attach` loaded this library into it.
#pragma once

#include "format/attach_order.h"

namespace fbleprof::capture {

// The order at the bottom of the caller's stack; null: we were loaded in the usual way.
format::AttachOrder* find_attach_order();

// Begins to record as ordered, and answers.
void start_attached(format::AttachOrder& order);

}  // namespace fbleprof::capture
