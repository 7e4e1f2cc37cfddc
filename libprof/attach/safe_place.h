// Whether a thread that was stopped while it computes holds a lock of libc, the loader or the
// allocator: whether one of their functions is on its stack.
#pragma once

#include <sys/types.h>

#include <vector>

#include "attach/loaded_file.h"
#include "attach/tracee.h"

namespace fbleprof::attach {

// Every word of the stack that follows a call counts as a return address. An old return address
// that is no longer used can make the answer no; the answer is never yes for a thread that is in
// such a function.
bool is_outside_of_libc(pid_t pid, pid_t tid, const Tracee& thread,
                        const std::vector<Mapping>& mappings);

}  // namespace fbleprof::attach
