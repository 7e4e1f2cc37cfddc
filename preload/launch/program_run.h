// A run of the program as a child of fble-prof. Without it, fble-prof becomes the program. Here
// fble-prof stays as the parent, passes signals on, and ends as the program ended.
#pragma once

#include <sys/types.h>

#include <functional>

namespace fbleprof::launch {

struct ProgramRun {
  pid_t pid = -1;  // -1: no child process could be made, and nothing ran
  int status = 0;  // as of waitpid
};

// Runs `become_program`, which returns only if it fails, in a child process. Calls `meanwhile`, if
// set, while the child runs.
ProgramRun run_program(const std::function<int()>& become_program,
                       const std::function<void(pid_t)>& meanwhile = {});

// Makes the kernel keep the status of child processes, which it does not where SIGCHLD is ignored.
void expect_children();
// For what the program is to inherit: undoes that.
void give_back_child_signal();

// Waits for the end of a child process; returns its status, as of waitpid.
int wait_for(pid_t child);

// Whether somebody told us to end, during a run or since: by a signal that no terminal sent.
bool was_told_to_end();

// The exit status after a run. If a signal ended the program, it ends this process, too.
int leave_like(int status);

// Makes the program's child processes write their profiles to this directory, too, if the name of
// the profile is relative, wherever they are.
void note_directory();

}  // namespace fbleprof::launch
