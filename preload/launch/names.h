// fble-prof --names: puts the names of functions into a run's profiles at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fbleprof::launch {

enum class OfRun { kEnded, kLive };
// The profiles of a run that began at `since_ns` (since 1970), under the name `out`: the program's
// and its child processes', finished or not.
std::vector<std::string> profiles_of_run(const std::string& out, std::uint64_t since_ns,
                                         OfRun which = OfRun::kEnded);

// Puts the names of their functions into these profiles.
void put_names_into(const std::vector<std::string>& files);

}  // namespace fbleprof::launch
