// Whether a stopped thread holds a lock of libc, the loader or an allocator: whether one of their
// functions is on its stack.
#pragma once

#include <sys/types.h>

#include <vector>

#include "attach/loaded_file.h"
#include "attach/tracee.h"

namespace fbleprof::attach {

enum class StoppedIn {
  kCode,       // it computes
  kQuietCall,  // in a system call that takes no lock, or behind one (arch::is_quiet)
};

// Walks the thread's stack by the unwind tables. A quiet call may be made by functions of libc that
// the program's code calls; elsewhere on the stack, and in the loader or an allocator, they may
// hold a lock. Where the walk cannot follow (generated code), each word of the stack of a thread
// that computes counts as a return address, and a quiet call is trusted.
bool holds_no_lock(pid_t pid, pid_t tid, const Tracee& thread, const std::vector<Mapping>& mappings,
                   StoppedIn where);

}  // namespace fbleprof::attach
