// Shadow stacks beside the thread's own: the C API's contexts.
#pragma once

#include <cstdint>

#include "capture/api.h"

namespace fbleprof::capture {

// Tells that a context mirrors a machine stack, so that a return to another one is noticed even
// where nobody says so.
void bind_to_machine_stack(fbleprof_context* context, std::uint64_t low, std::uint64_t bytes);

}  // namespace fbleprof::capture
