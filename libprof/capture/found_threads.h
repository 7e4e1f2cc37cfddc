// The threads that already ran when `fble-prof attach` loaded the recorder.
//
// None of them is stopped. Each gets a timer on its own CPU clock, which another thread can create,
// and attaches itself in the handler, when it has first run for a millisecond. From time to time a
// sample looks in /proc/self/task for new threads, and for those that have ended.
//
// Hooks never run in such threads. Their state does not use thread-local storage: that ends with
// the thread, and nothing reports the end of such a thread to us.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

// Turns this way of finding threads on. Once.
void expect_found_threads();
bool are_threads_found();

// Looks for threads now. Async-signal-safe.
void find_threads();
// The same, if the last search was some time ago. For samples.
void find_threads_sometimes();
// Recording stops: threads that have not been attached yet are left alone.
void forget_waiting_threads();

// Call in the handler, in a thread that is not attached. `sp`: the interrupted stack pointer.
void attach_found_thread(std::uint64_t sp);

}  // namespace fbleprof::capture
