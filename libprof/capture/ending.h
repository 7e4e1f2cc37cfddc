// The end of a profile, however the process ends.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::capture {

// Charges the remaining time and gives the file its final state and size. Hooks may still run and
// count. Async-signal-safe. Does nothing in a vfork child, which runs in its parent's memory.
void finish_process(format::State state, std::uint32_t code);

}  // namespace fbleprof::capture
