// System calls about signals that the program makes by syscall(), without libc's functions.
#pragma once

namespace fbleprof::preload {

// Whether one of our handlers stands in front of the program's action for the signal.
bool is_ours_to_set(int number);

// rt_sigaction for such a signal, with the kernel's structs. 0, or -1 with errno.
// Async-signal-safe.
int set_action_by_call(int number, const void* action, void* old);

}  // namespace fbleprof::preload
