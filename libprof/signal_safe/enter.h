// Entering and leaving functions and blocks, apart from the hot paths in hooks.S, which call the
// slow ones here. All functions: any thread, signal handlers included; bounded; no allocation; no
// system call.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

// As hooks.S pushes it: the state at the hook's return.
struct HookState {
  std::uint64_t pc, sp, fp;
};

extern "C" {
// Enters `callee`, called from `site`. `hook` is one of HOOK_... (arch/hot_layout.h).
void fbleprof_enter_slow(Entry* top, Frame frame, std::uint64_t site, std::uint64_t callee,
                         int hook, const HookState* at);
// The exit hook of a function that has no entry at the hook's frame or below. `hook_return`: where
// the hook returns to; 0 if it was tail-called.
void fbleprof_exit_slow(std::uint64_t callee, std::uint64_t hook_return);
// Leaves a block that is not on top.
void fbleprof_leave_slow(Entry* top, std::uint32_t block);
}

// A tail call: replaces the newest entry by one of `block`. `frame` is the API function's own.
void replace_top(Frame frame, std::uint32_t block);

// Charges virtual time to the live context.
void tick(Frame frame, std::uint64_t count);

}  // namespace fbleprof::signal_safe
