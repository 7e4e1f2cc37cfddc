// The threads of a program that ran before the recorder was loaded into it (`fble-prof attach`).
//
// None of them is stopped. Each gets a timer on its own CPU clock, which can be made from another
// thread, and attaches itself in the handler, when it first runs for a millisecond. Now and then a
// sample looks for new threads, and for those that have ended, in /proc/self/task.
//
// Hooks never run in such threads, so their state does not use thread-local storage, which ends
// with a thread of whose end we are not told.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

// From now on threads are found in this way. Once.
void expect_found_threads();
bool are_threads_found();

// Looks for threads now. Async-signal-safe.
void find_threads();
// The same, if it is some time ago. For samples.
void find_threads_sometimes();
// Recording stops: nothing is to happen to threads that have not been attached yet.
void forget_waiting_threads();

// In the handler, in a thread that is not attached; `sp`: what it interrupted.
void attach_found_thread(std::uint64_t sp);

}  // namespace fbleprof::capture
