// Remembers what was sent, so that only later additions are sent.
//
// Stored by context: a hash of the path's functions, and the values of each metric. Contexts only
// grow while a program is alive; its start time tells another run of the program.
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

// Identifies a run of a program by its start and its process ids.
std::uint64_t run_of(const profile::Profile& profile);

// Everything in `profile` (merged).
LastPush snapshot(const profile::Profile& profile, std::uint64_t until_ns);

// The metrics that have a difference (transform::adds_up).
profile::Profile without_levels(const profile::Profile& profile);

// `profile` minus `last`; all of it if `last` is of another run.
profile::Profile since(const profile::Profile& profile, const LastPush& last);

// The state file of a profile and a URL, in XDG_STATE_HOME/fbleprof or ~/.local/state/fbleprof.
Result<std::string> state_path(const std::string& profile, const std::string& url);

// A missing or damaged file means that nothing was pushed.
LastPush read_state(const std::string& path);
// Written completely or not at all.
Status write_state(const std::string& path, const LastPush& state);

}  // namespace fbleprof::push
