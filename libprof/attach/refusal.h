// Why attaching to a process fails, in one line that names what was refused and what helps.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace fbleprof::attach {

// Whether the process (or the thread) has ended, also if its parent has not waited for it yet.
bool has_ended(pid_t pid);

// An error of attaching. Whatever fails in a process that has ended fails because of that, so then
// this is what the error says.
Error error_of(pid_t pid, const std::string& what, const std::string& remedy = "");

// The same, with the reason that errno gives.
Error system_error_of(pid_t pid, const std::string& what, int error);

// Its memory cannot be read or written, as errno tells.
Error unreadable_memory(pid_t pid);
Error unwritable_memory(pid_t pid);

// The kernel does not let us trace the process, or see what it has mapped.
Error refusal_to_trace(pid_t pid, int error);
Error refusal_to_look(pid_t pid);

}  // namespace fbleprof::attach
