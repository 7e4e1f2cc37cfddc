// What makes a thread's sampling signals.
//
// Signals may only come while the thread runs in user mode: one that comes when it is about to
// sleep would make poll, nanosleep and their like return EINTR, which the program never saw before.
//  - A software task-clock perf event with user mode only, at a period slightly off the one asked
//    for. It is mapped and its descriptor closed: the mapping alone keeps it alive, and the program
//    sees no descriptor of ours.
//  - A timer on the thread's CPU clock: signals at the kernel's tick at the most, and only on the
//    way back to user mode. Without a perf event it is all there is; with one it tells in which
//    system calls the thread spends its time.
// Measured (Linux 6.18): perf with kernel mode, 195 EINTR in 20,000 polls; without, 0; the CPU
// timer, 0.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

// Async-signal-safe; on the thread itself. kNone if neither can be had.
format::SampleSource arm_timer(signal_safe::ThreadState& thread, int signal_number,
                               std::uint32_t rate_hz, bool allow_perf);
void disarm_timer(signal_safe::ThreadState& thread);

// An event has a descriptor until it is mapped, which a child forked meanwhile would keep. Around a
// fork: waits until no thread is at it, and has those wait that are about to. Async-signal-safe.
void hold_back_events();
void let_events_go_on();

// In a forked child: its parent's events are not its own.
void forget_timers();

// Tells our signals from the program's own.
bool is_timer_signal(int code, const void* value);

}  // namespace fbleprof::capture
