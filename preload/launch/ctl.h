// fble-prof ctl FILE COMMAND: tells the recorder of a running program what to do.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::launch {

// `words` are those after "ctl". Returns the exit status: 0 done, 1 the program did not obey, 2
// wrong usage.
int control(const std::vector<std::string>& words);

}  // namespace fbleprof::launch
