// A run of the program that fble-prof waits for. Otherwise fble-prof becomes the program. Here it
// stays as the program's parent, passes signals on to it, and ends as it ended.
#pragma once

#include <sys/types.h>

#include <functional>

namespace fbleprof::launch {

struct ProgramRun {
  pid_t pid = -1;  // -1: there could be no child process, and nothing ran
  int status = 0;  // as of waitpid
};

// Runs `become_program` in a child process, which does not return but by failing. Calls
// `meanwhile`, if there is one, when the child runs.
ProgramRun run_program(const std::function<int()>& become_program,
                       const std::function<void(pid_t)>& meanwhile = {});

// The status to exit with after a run. If a signal ended the program, it ends this one, too.
int leave_like(int status);

}  // namespace fbleprof::launch
