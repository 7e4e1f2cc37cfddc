// A process that was forked from a profiled one gets a profile of its own, with the contexts that
// it inherited. The parent's file stays as it was.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Around a fork, in the parent. Async-signal-safe.
void before_fork();
void after_fork_in_parent();

// In a forked child, before it returns from fork.
void after_fork_in_child();

// Before a thread is attached: whether the profile is the calling process's own. A forked child
// that was not noticed yet becomes its own process here. A vfork child is not to be profiled.
bool owns_profile();

// In a forked child that was noticed only now. `inherited` is the state of the thread that forked,
// null if it was not profiled. Afterwards the calling thread is attached to the new profile, or to
// none.
void become_own_process(signal_safe::ThreadState* inherited);

}  // namespace fbleprof::capture
