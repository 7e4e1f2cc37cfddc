// fble-prof attach [options] PID, and fble-prof detach PID.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::launch {

// `words` are those after "attach" or "detach". Each returns the exit status: 0 done, 1 the process
// refused, 2 wrong usage.
int attach(const std::vector<std::string>& words);
int detach(const std::vector<std::string>& words);

}  // namespace fbleprof::launch
