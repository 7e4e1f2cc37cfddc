// fble-prof ctl FILE COMMAND: tells the recorder of a running program what to do.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::launch {

// `words` are what follows "ctl". Returns the exit status: 0 done, 1 the program did not do it, 2
// wrong usage.
int control(const std::vector<std::string>& words);

}  // namespace fbleprof::launch
