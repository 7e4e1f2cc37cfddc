// A process forked from a profiled one gets its own profile, with the contexts that it inherited.
// It does not touch the parent's file.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Call around a fork, in the parent. Async-signal-safe.
void before_fork();
void after_fork_in_parent();

// In a forked child, before it returns from fork.
void after_fork_in_child();

// Call before a thread is attached: whether the profile belongs to the calling process. A forked
// child that was not noticed before gets its own profile here. A vfork child is not profiled.
bool owns_profile();

// For a forked child that was not noticed at the fork. `inherited` is the state of the thread that
// forked, null if it was not profiled. Attaches the calling thread to the new profile, or to none.
void become_own_process(signal_safe::ThreadState* inherited);

}  // namespace fbleprof::capture
