// Shadow stacks beside the thread's own: the C API's contexts.
#pragma once

#include <cstdint>

#include "capture/api.h"

namespace fbleprof::capture {

// Tells that a context mirrors a machine stack, so that a return to another one is noticed even
// where nobody says so.
void bind_to_machine_stack(fbleprof_context* context, std::uint64_t low, std::uint64_t bytes);

// The memory of that stack is used for another one, from the same address on: what the context knew
// is void. False: it has no room for so many entries.
bool bind_anew(fbleprof_context* context, std::uint64_t bytes);
std::uint64_t bound_bytes(const fbleprof_context* context);

// The machine stack goes on at `sp`: what was entered below has ended.
void drop_below(fbleprof_context* context, std::uint64_t sp);

}  // namespace fbleprof::capture
