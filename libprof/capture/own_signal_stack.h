// Our signal stack, of threads whose stacks grow by pieces (-fsplit-stack).
//
// Such a stack leaves 3.5 kB below the thread's functions, and a signal frame with AVX-512 takes
// 3.6: a sample would write over what lies there. So the kernel has memory of ours for the thread,
// while the program has set no signal stack (signal_stack.h). A handler of the program's with
// SA_ONSTACK runs there, too.
#pragma once

#include <signal.h>

#include "arch/split_stack.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// All of this is async-signal-safe.

inline constexpr stack_t kNoSignalStack = {nullptr, SS_DISABLE, 0};
inline bool is_off(const stack_t& stack) { return (stack.ss_flags & SS_DISABLE) != 0; }

// sigaltstack by a system call: 0, or -errno.
long change_signal_stack(const stack_t* stack, stack_t* old);

// Before that, no thread gets one: a filter that confined the program before its start may forbid
// the call.
void allow_own_signal_stacks();

// A thread that is being attached, or detached: gives it ours if it needs one, and takes it back.
// The memory is the state's. False: the thread runs there.
void provide_signal_stack(const signal_safe::ThreadState& thread);
bool withdraw_signal_stack();
// The same for the calling thread, if it is attached and the kernel has none for it.
void provide_signal_stack();
// The same, in a handler of ours, from the handler's end on.
void provide_signal_stack_after(void* context);
// Before a thread is made: it will need one if its maker does.
void note_split_stack();

// The calling thread's; kNoSignalStack: it has none.
stack_t own_signal_stack();
bool is_own_signal_stack(const stack_t& stack);

// Called where a thread changes its mask: one with a split stack does before it adds a piece,
// unless libgcc was told not to.
inline void look_at_split_stack() {
  if (arch::has_split_stack()) [[unlikely]]
    provide_signal_stack();
}

}  // namespace fbleprof::capture
