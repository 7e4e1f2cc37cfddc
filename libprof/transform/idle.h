// Waits for work: what a thread waits when it has nothing to do.
//
// Which waits these are is a rule about the call and the thread:
//  - waits for whatever comes next (epoll_wait, accept, sigwait, pause and the like: WaitKind
//    kForEvents);
//  - waits for another thread or process (conditions, semaphores, poll, read and the like:
//  kForPeers)
//    in one context in which the thread spent at least half of its elapsed time.
#pragma once

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of the function that with_idle_apart puts below such a call.
inline constexpr char kIdle[] = "[idle]";

// A profile in which each such wait stands in a context of its own, [idle], below the call. The
// same profile if there is none. `profile` must hold the trees of its threads.
profile::Profile with_idle_apart(const profile::Profile& profile);

}  // namespace fbleprof::transform
