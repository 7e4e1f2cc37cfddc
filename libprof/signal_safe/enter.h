// The slow paths of the hooks of native functions; hooks.S has the hot ones, which call these. Any
// thread, signal handlers included; bounded; no allocation; no system call, except where a shadow
// stack grows.
#pragma once

#include <cstdint>

#include "signal_safe/shadow_stack.h"

namespace fbleprof::signal_safe {

// As hooks.S pushes it: the state at the hook's return.
struct HookState {
  std::uint64_t pc, sp, fp;
};

// Whether a trampoline calls this hook (HOOK_...): the callee is then the trampoline's.
constexpr bool is_of_trampoline(int hook) { return hook == HOOK_EXACT || hook == HOOK_TAIL; }

extern "C" {
// Enters `callee`, called from `site`. `hook` is one of HOOK_... (arch/hot_layout.h).
void fbleprof_enter_slow(Entry* top, Frame frame, std::uint64_t site, std::uint64_t callee,
                         int hook, const HookState* at);
// The exit hook of a function that has no entry at the hook's frame or below. `hook_return`: where
// the hook returns to; 0 if it was tail-called.
void fbleprof_exit_slow(std::uint64_t callee, std::uint64_t hook_return);
}

}  // namespace fbleprof::signal_safe
