// A process forked from a profiled one gets its own profile, with the contexts that it inherited.
// It does not touch the parent's file.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Around a fork, in the parent. Async-signal-safe.
void before_fork();
void after_fork_in_parent();

// In a forked child, before it returns from fork.
void after_fork_in_child();

// Before a thread is attached: whether the profile belongs to the calling process. A forked child
// that was not noticed yet gets its own profile here. A vfork child is not profiled.
bool owns_profile();

// In a forked child that is noticed only now. `inherited` is the state of the thread that forked,
// null if it was not profiled. Attaches the calling thread to the new profile, or to none.
void become_own_process(signal_safe::ThreadState* inherited);

}  // namespace fbleprof::capture
