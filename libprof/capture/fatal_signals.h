// Signals that end the process: what was not yet charged is charged, and the file says what
// happened.
//
// A handler goes in only where the program left the default action. It hands the signal on as the
// default action would have met it: a fault happens again at its instruction, any other signal is
// queued again with what came with it. Exit status, core dump and registers are the same. The
// program does not see the handler: it is told of the default action.
//
// SIGBUS has another cause: somebody truncated the profile's file under our mapping. Then memory
// takes the place of what is gone, and the program goes on.
#pragma once

#include <signal.h>

namespace fbleprof::capture {

void watch_fatal_signals();

// What the program is to be told that its action was: the default, where it is ours. For the result
// of sigaction (may be null), and of signal.
void hide_fatal_handler(struct sigaction* action);
using SignalHandler = void (*)(int);
SignalHandler without_fatal_handler(SignalHandler handler);

}  // namespace fbleprof::capture
