// Signals that end the process: our handler charges the remaining time, and the file says what
// happened.
//
// While the program has the default action for a signal that ends a process, the kernel has our
// handler. The handler passes the signal on as if there were no handler: a fault happens again at
// its instruction, and any other signal is queued again with its information. Exit status, core
// dump and registers are the same. The program does not see the handler: sigaction returns the
// action that the program set.
//
// Our handler also stands in front of these actions of the program:
//  - SA_RESETHAND, after which the default is in force;
//  - with --exact, a handler of a fault. If a displaced instruction caused it, the handler sees the
//    address where the instruction stood: it may throw an exception, for which the unwind table
//    must know the address, or compare it;
//  - a handler of SIGSEGV, if we read the stack of a runtime (arch/peek.h);
//  - a handler of SIGBUS. SIGBUS has one more cause under the profiler: another process truncated
//    the profile's file under our mapping. Then memory replaces the lost part, and the program
//    continues.
#pragma once

#include <signal.h>

#include <cstdint>

#include "capture/signals.h"

namespace fbleprof::capture {

// `default_signals`: those that are known to have their default action (ProcessStatus).
void watch_fatal_signals(std::uint64_t default_signals);
// There is no profile: the kernel gets the program's actions.
void stop_watching_fatal_signals();
// In a child: watches them again if the child was made without handlers (CLONE_CLEAR_SIGHAND).
void watch_cleared_signals();
// In a child that is the first process of its namespace: the kernel does not send it signals that
// have no handler, so only faults and the control signal keep ours.
void leave_signals_to_first_process();
// In a program that has confined itself: the kernel gets the program's actions. Only faults, which
// may be ours, and the control signal meet our handlers first.
void leave_signals_to_confined_program();
// In a program to which fble-prof attached: only SIGBUS, SIGSEGV if a runtime's stacks are read,
// and with --exact the other faults, while the program's actions are watched (attached_calls.h).
void catch_faults();
void stop_catching_faults();
// Afterwards peeks rely on that: nothing else puts an action in our place.
void trust_caught_faults();

// Whether the signal's action goes through set_watched_action.
bool is_watched(int number);

// Makes signal_safe::peek's faults ours instead of the program's. Not in handlers.
void catch_faults_of_peeks();

// sigaction for a watched signal: 0, or -1 with errno. `set`: gives it to the kernel.
// Async-signal-safe.
int set_watched_action(int number, const struct sigaction* action, struct sigaction* old,
                       SetAction set = set_kernel_action);

}  // namespace fbleprof::capture
