// What the C API's calls do to the shadow stack, apart from the hot paths in hooks.S.
// All functions: any thread, signal handlers included; bounded; no allocation; no system call.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

// A tail call: replaces the newest entry by one of `block`. `frame` is the API function's own.
void replace_top(Frame frame, std::uint32_t block);

// Charges virtual time to the live context.
void tick(Frame frame, std::uint64_t count);

}  // namespace fbleprof::signal_safe
