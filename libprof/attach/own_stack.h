// The stack that a thread was started with.
#pragma once

#include <sys/types.h>

#include <vector>

#include "attach/loaded_file.h"
#include "attach/tracee.h"

namespace fbleprof::attach {

// Its mapping; null if it cannot be told. libc keeps its data of a thread at the end of the stack.
const Mapping* stack_started_with(pid_t pid, const Tracee& thread,
                                  const std::vector<Mapping>& mappings);

// The same, if the thread runs on it now; null if it runs on another one, of a signal or a
// coroutine.
const Mapping* own_stack_of(pid_t pid, const Tracee& thread, const std::vector<Mapping>& mappings);

}  // namespace fbleprof::attach
