// The memory of profiled threads, from the start of a thread to its end. The next thread takes over
// the memory and tree of one that ended, so a million short threads cost only as much as the
// largest number that ever ran at once.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/stack_bounds.h"
#include "capture/thread_memory.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Gives the calling thread a state and a timer. On failure the thread is counted, but not profiled.
// Charging begins at the reading cpu_from_ns of its CPU clock. Async-signal-safe; call it with the
// sampling signal blocked.
void attach_this_thread(StackBounds bounds, std::uint64_t cpu_from_ns);

// The same for a thread that is about to be created, in two steps: the creator takes the memory,
// and returns it if no thread is created; the thread starts with it. Null: the thread is not
// profiled.
ThreadStart* prepare_thread();
// One that is started unprofiled.
void count_lost_thread();
void cancel_thread(ThreadStart* start);
void attach_prepared_thread(ThreadStart* start, StackBounds bounds);

// Ends the calling thread's profile: charges its remaining time and frees its memory for another
// thread. Hooks stay off for the rest of the thread.
void detach_this_thread();

// For found threads (found_threads.h): whether the thread is attached, and the detaching of a
// thread that ended without notice.
bool is_attached(std::uint32_t tid);
void end_found_thread(std::uint32_t tid);

// Calls `function` for every attached thread. Threads may start or end meanwhile, so anything
// outside the state itself (thread-local storage) may be gone. Any handler may call this.
void for_each_attached(void (*function)(signal_safe::ThreadState& thread, void* argument),
                       void* argument);

// Whether the process has no such thread any more.
bool has_ended(std::uint32_t tid);

// Whether a thread is not sampled since the last call: the system gave it neither an event nor a
// timer.
bool take_lack_of_timers();

// In a forked child: forgets all threads except the calling one, whose shadow stack it keeps. The
// caller then attaches it again.
void abandon_all_threads();

// Gives the calling thread its timer back, when its finished profile continues.
void arm_this_thread();

// A thread gets a name, which may decide whether it is recorded. `thread` is its pthread_t. A
// thread that another one gives a name to leave out stays recorded.
void note_thread_name(unsigned long thread, const char* name);
void note_own_name();

// Charges the calling thread's time up to now. Async-signal-safe.
void charge_rest_of_this_thread();

// The program has set an alternate signal stack for this thread, which may be one that is left out.
void note_signal_stack(void* base, std::uint64_t bytes);
// What was noted for this thread; 0, 0: none.
StackBounds signal_stack_of_this_thread();

// Leaves the attaching of threads to found_threads.h. `tell_end_of_thread`: makes the calling
// thread call detach_this_thread when it ends; null: that is not possible.
void find_threads_later(void (*tell_end_of_thread)());

// Of all threads from now on. The settings stay where they are.
void configure_threads(const Settings& settings, bool allow_perf);

// Stops and starts all threads: while stopped, the hooks see empty caches, no time is charged and
// no timer runs. `watching`: a slow timer runs, so that a thread looks at the clock from time to
// time. One caller at a time. Async-signal-safe, but do not start or watch while events are held
// back.
enum class Stopped { kCompletely, kWatching };
void stop_all_threads(Stopped how = Stopped::kCompletely);
// There will be no samples any more: the program is about to confine itself, or gets its own action
// for their signal.
void disarm_all_threads();
// Whether time is charged from this moment on, or from the moment at which each thread was
// attached.
enum class Charged { kFromNow, kFromAttaching };
void start_all_threads(Charged from);
// The calling thread, which Charged::kFromNow leaves out: the caller starts it when nothing else is
// left to do, so that the work is not charged to the program.
void start_this_thread();

// Empties all threads' edge caches: code was unloaded, and other code may be loaded in its place.
// Returns how many pages of them were looked through: those that were filled since the last time.
std::uint64_t forget_code();

}  // namespace fbleprof::capture
