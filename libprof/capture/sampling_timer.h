// The sources of a thread's sampling signals.
//
// Signals may come only while the thread runs in user mode. A signal that comes when the thread is
// about to sleep would make poll, nanosleep and the like return EINTR, which the program would not
// see without the profiler.
//  - A software task-clock perf event, in user mode only, with a period slightly longer than
//    requested. It is mapped and its descriptor closed: the mapping keeps the event alive, and the
//    program sees no descriptor.
//    Another event may take its place (FBLEPROF_CLOCK=cycles).
//  - A timer on the thread's CPU clock, which signals at most once per kernel tick, and only on the
//    way back to user mode. Without a perf event it is the only source; with one, it shows in which
//    system calls the thread spends its time.
// Measured (Linux 6.18): perf with kernel mode, 195 EINTR in 20,000 polls; without, 0; the CPU
// timer, 0.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "format/format.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Async-signal-safe; by any thread of the process, as long as `thread` cannot end. kNone if the
// system allows neither. `passed_ns` of the first period have passed already.
//
// While a fork is under way there is only the timer, and change_event() must follow.
format::SampleSource arm_timer(signal_safe::ThreadState& thread, int signal_number,
                               std::uint32_t rate_hz, bool allow_perf, std::uint64_t passed_ns);
// At each sample, in the handler: gives the thread the perf event that arm_timer could not, or one
// whose periods are all whole. Async-signal-safe.
void change_event(signal_safe::ThreadState& thread, int signal_number);
// Decides whether the event of the settings (Options::event) can be sampled, and its period. If
// not, it is turned off, and the reason noted. In the constructor only.
void settle_event(Settings& settings, bool allow_perf);

// Decides whether time without a processor can be recorded. Only with waits.
void settle_switches(Settings& settings, bool allow_perf);

// How many events to charge at a signal with this code: those since the last charge, in whole
// periods; 0: the signal is not an event's. On the thread itself.
std::uint64_t take_events(signal_safe::ThreadState& thread, int code);

void disarm_timer(signal_safe::ThreadState& thread);

// Makes a timer that signals once, when the thread has computed for a millisecond. `timer` is its
// kernel number. Async-signal-safe; any thread of the process.
bool make_waking_timer(std::uint32_t tid, int signal_number, int* timer);

// An event has a descriptor until it is mapped, and a child forked meanwhile would keep it. Call
// these around a fork: the first waits until no thread is making an event, and threads make none
// until the second. Async-signal-safe.
void hold_back_events();
void let_events_go_on();

// In a forked child: forgets the parent's events.
void forget_timers();

// Tells our signals from the program's own.
bool is_timer_signal(int code, const void* value);

}  // namespace fbleprof::capture
