// fble-prof --names: the run, and then the names of its functions put into its profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fbleprof::launch {

// The profiles that a run which began at `since_ns` (since 1970) left under the name `out`: its own
// and those of its child processes.
std::vector<std::string> profiles_of_run(const std::string& out, std::uint64_t since_ns);

// Puts the names of their functions into these profiles.
void put_names_into(const std::vector<std::string>& files);

// Runs `become_program` in a child process, which does not return but by failing; then names what
// it left. Returns the status to exit with; if a signal ended the program, it ends this one, too.
int run_and_name(const std::function<int()>& become_program, const std::string& out,
                 std::uint64_t since_ns);

}  // namespace fbleprof::launch
