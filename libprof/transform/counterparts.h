// The processes and threads of several runs that are the same part of their program.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// By process and by thread: whose group it shares. Empty: each has its own.
struct Counterparts {
  std::vector<profile::ProcessId> process;
  std::vector<profile::ThreadId> thread;
};

// `profile` holds several runs, side by side (join.h). `runs`: the index of each run's first
// process. A process is the counterpart of the one that is as late among those of its program in
// an earlier run; if each run has a single process left, these are counterparts, too. Threads are
// matched in the same way by their names, within such processes, and main threads with each other.
Counterparts find_counterparts(const profile::Profile& profile,
                               const std::vector<std::size_t>& runs);

}  // namespace fbleprof::transform
