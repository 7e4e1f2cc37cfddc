// Every profiled thread's memory, from the thread's first breath to its last, and beyond: the
// memory and the tree of one that ended go to the next, so that a million short threads cost no
// more than the most that ever ran at once.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/stack_bounds.h"
#include "capture/thread_blocks.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Gives the calling thread a state and a timer. On failure the thread is not profiled, and is
// counted. Its CPU time is charged from the reading cpu_from_ns of its clock on.
// Async-signal-safe; the sampling signal blocked.
void attach_this_thread(StackBounds bounds, std::uint64_t cpu_from_ns);

// The same for a thread that is about to be created, in two steps: its creator takes the memory, or
// gives it back if there will be no thread; the thread begins with it. Null: it is not profiled.
ThreadStart* prepare_thread();
void cancel_thread(ThreadStart* start);
void attach_prepared_thread(ThreadStart* start, StackBounds bounds);

// Ends the calling thread's profile: its remaining time is charged, its memory is free for another.
// `for_good`: hooks stay off for what the thread may still run.
void detach_this_thread(bool for_good);

// Calls `function` for every attached thread, which may start or end meanwhile: what is not in the
// state itself (thread-local storage) may be gone. From any handler.
void for_each_attached(void (*function)(signal_safe::ThreadState& thread, void* argument),
                       void* argument);

// In a forked child: forgets all threads but the calling one, whose shadow stack it keeps. The
// caller then attaches it anew.
void abandon_all_threads();

// Charges the calling thread's time up to now. Async-signal-safe.
void charge_rest_of_this_thread();

// Tells that an alternate signal stack was set for this thread.
void note_signal_stack(void* base, std::uint64_t bytes);

// Remembers what threads are to be given.
void configure_threads(const Settings& settings, bool allow_perf);

// Off and on for all threads: while off, the hooks' caches are empty and time passes uncharged.
void stop_all_threads();
void start_all_threads();

// Empties all threads' edge caches: code was unloaded, other code may come to lie there.
void forget_code();

}  // namespace fbleprof::capture
