// The profile of a program that was already running when `fble-prof attach` loaded this library.
#pragma once

#include "format/attach_order.h"

namespace fbleprof::capture {

// The order at the bottom of the caller's stack; null if the loader loaded us at the start.
format::AttachOrder* find_attach_order();

// Begins to record as ordered, and writes the answer. `tell_end` as in find_threads_later.
void start_attached(format::AttachOrder& order, void (*tell_end)());
// The same by another order, if an earlier one failed. In a thread that fble-prof has stopped.
void start_attached_again(format::AttachOrder& order);

}  // namespace fbleprof::capture
