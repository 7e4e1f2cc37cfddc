// A sampling signal charges the time since the thread's last sample to the thread's live context.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// What a sampling signal means.
enum class Sampled {
  kAll,         // the thread has no other source of samples
  kUser,        // a period of the perf event is over, and the thread is in user mode
  kSystemCall,  // a kernel tick, besides the event, met a system call
  kTick,        // a kernel tick met the thread elsewhere
};

// Call it from the handler only, on the thread itself, with the sampling signal blocked. Reads two
// clocks; no lock, no allocation; known_stack.h gives the bound.
void charge_sample(ThreadState& thread, const MachineState& at, Sampled what);

// Charges events (Options::event) to the live context, and no time. The recorder's own events are
// left out.
void charge_events(ThreadState& thread, const MachineState& at, std::uint64_t events);

// The same as charge_sample for a fatal signal, which may come in the middle of a change of the
// thread's state, and on a lost stack: uses only the shadow stack to find the context.
void charge_fatal(ThreadState& thread, const MachineState& at);

// The context to charge with time not yet sampled at the end: the last sampled one, or the root if
// there is none. The top of the shadow stack would be wrong: it may have returned already, and may
// have taken no time.
format::Ref context_of_rest(const ThreadState& thread);

// Whether the thread's time is charged now: recording is on, and the clock is not ticks.
bool takes_time(const ThreadState& thread);

// While recording is off: charges what had passed when it was turned off. The thread takes no
// samples at this moment.
void charge_until_stop(ThreadState& thread);
// Charges time in the kernel that no system call has taken (kernel_time.h), when none can take it
// any more. On the thread itself, or on another one at the end of the process.
void charge_kernel_time(ThreadState& thread);

// Charges both, and waits: at the end of a thread, of the process, at exec, and wherever the
// profile must be complete earlier. Call it with the sampling signal blocked.
void charge_rest(ThreadState& thread);

}  // namespace fbleprof::signal_safe
