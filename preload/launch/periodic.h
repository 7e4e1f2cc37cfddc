// Takes snapshots at regular times, so that a report can show the last seconds of a program that
// runs for days. Another process takes them, so they cost the program nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "control/running_profile.h"
#include "launch/time_text.h"

namespace fbleprof::launch {

// Runs until the program has ended, or exec has replaced it, which is not a failure.
Status take_windows(control::RunningProfile& profile, const Windows& windows);

// fble-prof --window: runs `become_program` in a child process, as run_program does, and takes
// snapshots of its profile, named `out`, meanwhile. Returns the status of waitpid and the pid.
struct ProgramRun;
ProgramRun run_with_windows(const std::function<int()>& become_program, const std::string& out,
                            std::uint64_t since_ns, const Windows& windows);

}  // namespace fbleprof::launch
