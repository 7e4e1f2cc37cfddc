// The end of a profile, however the process ends.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::capture {

// What is left is charged, the file gets its final state and size. Hooks may still run and are
// counted. Async-signal-safe. A vfork child, which runs in its parent's memory, does nothing.
void finish_process(format::State state, std::uint32_t code);

}  // namespace fbleprof::capture
