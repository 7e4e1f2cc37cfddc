// fble-prof-report, run for the work that needs the names of functions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fbleprof::launch {

// The path of fble-prof-report, beside this program.
std::string report_path();

// Starts it with these arguments, without the recorder. Its `stream`, stdout or stderr, goes to
// `descriptor`. Returns the process, or -1 with errno.
pid_t start_report(std::vector<std::string> arguments, int stream, int descriptor);

}  // namespace fbleprof::launch
