// Waits for work: the time in which a thread has nothing to do.
//
// A rule about the call and the thread decides which waits these are:
//  - waits for any next event (epoll_wait, accept, sigwait, pause and the like: WaitKind
//    kForEvents);
//  - waits for another thread or process (conditions, semaphores, poll, read and the like:
//    kForPeers) in one context in which the thread spent at least half of its elapsed time.
// The waits of one call in one context count together, whoever ended them (transform/holders.h).
#pragma once

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of the function that with_idle_apart puts below such a call.
inline constexpr char kIdle[] = "[idle]";

// A profile in which each such wait has its own context, [idle], below the call. The same profile
// if there is no such wait. `profile` must hold the trees of its threads.
profile::Profile with_idle_apart(const profile::Profile& profile);
// Whether with_idle_apart found such waits.
bool has_idle(const profile::Profile& profile);

}  // namespace fbleprof::transform
