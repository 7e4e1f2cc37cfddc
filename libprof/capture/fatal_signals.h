// Signals that end the process: our handler charges the remaining time, and the file says what
// happened.
//
// As long as the program has the default action for a signal that ends a process, the kernel has a
// handler of ours. It passes the signal on as if it were not there: a fault happens again at its
// instruction, and any other signal is queued again with its information. Exit status, core dump
// and registers are the same. The program does not see the handler; it is told the action that it
// set.
//
// Our handler also stands in front of three actions of the program:
//  - SA_RESETHAND, after which the default is in force;
//  - a handler of SIGSEGV, once there is a runtime whose stack we read (arch/peek.h);
//  - a handler of SIGBUS. SIGBUS has one more cause under the profiler: somebody truncated the
//    profile's file under our mapping. Then memory replaces what is gone, and the program
//    continues.
#pragma once

#include <signal.h>

namespace fbleprof::capture {

void watch_fatal_signals();

// Whether the signal's action goes through set_watched_action.
bool is_watched(int number);

// From now on a fault of signal_safe::peek is not the program's. Not in handlers.
void catch_faults_of_peeks();

// sigaction for a watched signal: 0, or -1 with errno. Async-signal-safe.
int set_watched_action(int number, const struct sigaction* action, struct sigaction* old);

}  // namespace fbleprof::capture
