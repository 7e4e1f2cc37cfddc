// Programs that switch between their own machine stacks (swapcontext): each stack gets a shadow
// stack, found again by the stack that it mirrors.
#pragma once

#include <ucontext.h>

namespace fbleprof::capture {

// Before the calling thread continues in `to`.
void note_switch(const ucontext_t* to);

}  // namespace fbleprof::capture
