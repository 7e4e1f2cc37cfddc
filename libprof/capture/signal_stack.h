// Signal stacks of the program, and ours.
//
// A stack on which the kernel has no room for its frame does no harm without us as long as no
// handler is to run there. Ours would, and the program would die. So the kernel is told that there
// is none. The program sees the one that it set.
#pragma once

#include <signal.h>

namespace fbleprof::capture {

// sigaltstack for the program; `real` is libc's.
int set_signal_stack(const stack_t* stack, stack_t* old,
                     int (*real)(const stack_t*, stack_t*) noexcept);

// Notes the signal stack that the calling thread has, which was set before the thread was attached.
// Async-signal-safe; one system call.
void learn_signal_stack();

}  // namespace fbleprof::capture
