// fble-prof --names: the run, and then the names of its functions put into its profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fbleprof::launch {

enum class OfRun { kEnded, kLive };
// The profiles that a run which began at `since_ns` (since 1970) left under the name `out`: its own
// and those of its child processes; or those that are being written.
std::vector<std::string> profiles_of_run(const std::string& out, std::uint64_t since_ns,
                                         OfRun which = OfRun::kEnded);

// Puts the names of their functions into these profiles.
void put_names_into(const std::vector<std::string>& files);

}  // namespace fbleprof::launch
