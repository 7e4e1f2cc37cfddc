// Programs that forbid themselves things that we do.
#pragma once

namespace fbleprof::capture {

// Whether the program was born confined (seccomp): a new kind of system call might be its end.
bool is_born_confined();

// Before the program forbids itself system calls (seccomp): nothing of ours makes one afterwards.
void before_confinement();
// Before the program forbids a thread of it to read the time-stamp counter.
void before_counter_is_forbidden();

}  // namespace fbleprof::capture
