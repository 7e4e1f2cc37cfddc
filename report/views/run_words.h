// Names for the facts of a run.
#pragma once

#include <string>

#include "profile/profile.h"

namespace fbleprof::report {

// "live", "ended", "replaced", "fatal", "killed", "unknown".
std::string state_name(profile::ProcessState state);
// The same for people, with the signal that ended it.
std::string end_text(const profile::Process& process);
std::string clock_name(profile::Clock clock);
std::string source_name(profile::SampleSource source);
std::string compaction_name(profile::Compaction compaction);

// The command line in shell syntax, escaped; the executable if there is none.
std::string command_text(const profile::Profile& profile, const profile::Process& process);

}  // namespace fbleprof::report
