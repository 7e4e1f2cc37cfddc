// Programs that switch between their own machine stacks (swapcontext): each stack gets a shadow
// stack, which is found again by the address of the machine stack.
#pragma once

#include <ucontext.h>

namespace fbleprof::capture {

// Call before the calling thread continues in `to`.
void note_switch(const ucontext_t* to);

}  // namespace fbleprof::capture
