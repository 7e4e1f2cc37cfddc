// What was sent before, so that only what came since is sent now.
//
// Kept by context: a hash of the path's functions, and the values of each metric then. Contexts
// only ever grow while a program lives; its start tells another run of the program.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::push {

struct LastPush {
  std::uint64_t run = 0;       // which run it was of, see run_of; 0 = nothing was pushed yet
  std::uint64_t until_ns = 0;  // since 1970
  std::vector<std::string> metrics;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> values;  // by path
};

// Tells the runs of a program apart: its start and its process ids.
std::uint64_t run_of(const profile::Profile& profile);

// All that `profile` (merged) holds now.
LastPush snapshot(const profile::Profile& profile, std::uint64_t until_ns);

// `profile` less what `last` holds; all of it if that was another run.
profile::Profile since(const profile::Profile& profile, const LastPush& last);

// The state file of a profile and a URL, in XDG_STATE_HOME/fbleprof or ~/.local/state/fbleprof.
Result<std::string> state_path(const std::string& profile, const std::string& url);

// A file that is not there, or is damaged, is as if nothing had been pushed.
LastPush read_state(const std::string& path);
// Whole or not at all.
Status write_state(const std::string& path, const LastPush& state);

}  // namespace fbleprof::push
