// Signals that end the process: what was not yet charged is charged, and the file says what
// happened.
//
// For each signal that ends a process by default the kernel has a handler of ours, while the
// program has left the default or set it again. It hands the signal on as the default action would
// have met it: a fault happens again at its instruction, any other signal is queued again with what
// came with it. Exit status, core dump and registers are the same. The program does not see the
// handler: it is told of the action that it set.
//
// Two of the program's own actions stand behind a handler of ours as well:
//  - SA_RESETHAND, after which the default is in force;
//  - a handler of SIGBUS, which has another cause here: somebody truncated the profile's file under
//    our mapping. Then memory takes the place of what is gone, and the program goes on.
#pragma once

#include <signal.h>

namespace fbleprof::capture {

void watch_fatal_signals();

// Whether the signal's action goes through set_watched_action.
bool is_watched(int number);

// sigaction for a watched signal: 0, or -1 with errno. Async-signal-safe.
int set_watched_action(int number, const struct sigaction* action, struct sigaction* old);

}  // namespace fbleprof::capture
