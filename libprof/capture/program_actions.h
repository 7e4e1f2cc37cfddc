// The program's own actions for signals where the kernel has a handler of ours: the sampling signal
// (signals.h) and those that end the process (fatal_signals.h). The program sees what it set.
#pragma once

#include <signal.h>

namespace fbleprof::capture {

// Whether one of our handlers stands in front of the program's action for the signal.
bool is_ours_to_set(int number);

// sigaction for such a signal: 0, or -1 with errno. Async-signal-safe.
int set_action(int number, const struct sigaction* action, struct sigaction* old);

// rt_sigaction for such a signal, with the kernel's structs (KernelAction), at addresses that may
// be bad. Returns what the kernel would: 0 or -errno. Async-signal-safe.
long set_action_by_call(int number, const void* action, void* old);

}  // namespace fbleprof::capture
