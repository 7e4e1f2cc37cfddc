// Programs that switch between their own machine stacks (swapcontext): each stack gets a shadow
// stack, which is found again by the address of the machine stack.
#pragma once

#include <ucontext.h>

#include "signal_safe/enter.h"

namespace fbleprof::capture {

// Call before the calling thread continues in `to`. `frame`: that of the function that the program
// called for it; `at`: the state at its return.
void note_switch(const ucontext_t* to, signal_safe::Frame frame, const signal_safe::HookState& at);

}  // namespace fbleprof::capture
