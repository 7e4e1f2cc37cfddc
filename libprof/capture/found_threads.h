// The threads that already ran when `fble-prof attach` loaded the recorder.
//
// None of them is stopped. Each gets a timer on its own CPU clock, which another thread can create,
// and attaches itself in the handler, when it has first run for a millisecond. From time to time a
// sample looks in /proc/self/task for new threads, and for those that have ended.
//
// The end of a thread is announced by a thread-specific value, if the program leaves one of those
// that need no memory. If it does not, the state of the threads is not in their thread-local
// storage, which ends with them, and no hook can run in them.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

// Turns this way of finding threads on. Once. `tell_end` as in find_threads_later.
void expect_found_threads(void (*tell_end)());
bool are_threads_found();
// Whether hooks can run in these threads.
bool do_found_threads_tell_end();

// Looks for threads now. Those that block the sampling signal are left to the next look.
// Async-signal-safe.
void find_threads();
// The same, and waits a little for threads that block the signal. When recording starts.
void find_all_threads();
// The same, if the last search was some time ago; returns whether it was. For samples.
bool find_threads_sometimes();
// Recording stops: threads that have not been attached yet are left alone. False: another thread
// is looking, and forgets them when it has looked. True: as long as recording is off, nothing waits
// for a thread.
bool forget_waiting_threads();

// Around exec in the calling thread: nobody looks for threads, and nothing waits for this one.
// False: another thread has been looking for too long; then there is nothing to let go on.
bool hold_finding_back();
void let_finding_go_on();

// In a forked child: the parent's threads and timers are not there.
void forget_found_threads();

// Call in a thread that is not attached. `sp`: a place on its stack.
void attach_found_thread(std::uint64_t sp);
// In a thread that may be attached, and that fble-prof has stopped, or that called exec in vain. It
// may run on another stack than its own, which is only known of the main thread: no sample has to
// find that one. With hooks, the thread's first one does it.
void attach_borrowed_thread();

}  // namespace fbleprof::capture
