// Programs that switch between machine stacks of their own making (swapcontext): each gets a shadow
// stack, found again by the stack it mirrors.
#pragma once

#include <ucontext.h>

namespace fbleprof::capture {

// Before the calling thread goes on in `to`.
void note_switch(const ucontext_t* to);

}  // namespace fbleprof::capture
