// Lets the program's own signals end system calls as they do without the sampling signal.
//
// Where a sample and a signal of the program are both pending when a call is interrupted, the
// kernel delivers the thread's own signal first: the sample. Our action asks for a restart, so the
// thread is set back to its system call. The program's handler runs next, but its action does not
// decide any more: a `read` that an alarm was to end would wait for ever. So the handler of the
// sample looks at what is pending, and ends the call if the program's handler would have.
//
// A signal that comes between that look and the handler's return (some 100 ns) still finds the call
// set back, as one that comes just before the call does.
#pragma once

#include <csignal>

namespace fbleprof::capture {

// Call last in a handler of a signal of ours whose action has SA_RESTART, while all signals of the
// program are blocked. Makes system calls only if it has interrupted a call. Async-signal-safe.
void end_call_for_pending(void* context);

// The same for the program's own handler that is about to run: `action` is the program's.
void end_call_for(const struct sigaction& action, void* context);

}  // namespace fbleprof::capture
