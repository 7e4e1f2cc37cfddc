// Programs that forbid themselves system calls or instructions that we use.
#pragma once

namespace fbleprof::capture {

// Call before the program forbids itself system calls (seccomp), or has them sent to a
// handler of its own: afterwards our code makes none.
void before_confinement();
bool is_confined();
// Whether the kernel takes a filter of system calls from the calling thread.
bool may_filter_system_calls();
// Call before the program forbids one of its threads to read the time-stamp counter.
void before_counter_is_forbidden();

}  // namespace fbleprof::capture
