// What the C API's calls do to the shadow stack, beyond the hot paths in hooks.S.
// All: any thread, signal handlers included; bounded; no allocation; no system call.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

// A tail call: the newest entry gives way to one of `block`. `frame`: the API function's own.
void replace_top(Frame frame, std::uint32_t block);

// Charges virtual time to the live context.
void tick(Frame frame, std::uint64_t count);

}  // namespace fbleprof::signal_safe
