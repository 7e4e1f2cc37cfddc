// The scripts of a running Python, for a recorder that was attached to it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace fbleprof::attach {

// Loads the adapter (libfbleprof_python.so, a file here) into a process that has the recorder, and
// lets it read the interpreter's stacks at samples. Does nothing if no Python 3 is in the process,
// or the adapter is there already. The error says why scripts are not shown.
Status show_scripts(pid_t pid, const std::string& adapter);

}  // namespace fbleprof::attach
