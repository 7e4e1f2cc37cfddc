// Opens what the user named, tells what it is, and has it read: mlmon.out or another profiler's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::report {

struct InputOptions {
  bool tolerant = false;  // what cannot be read is a warning
  Progress* progress = nullptr;
  bool plain_runs = false;  // of each file the sampled run that stands in it; others are skipped
};

// Calls `take` with the profile of each file in turn; "-" is stdin. A program among the files is no
// profile but what a gmon.out beside it needs. Fails at the first file that cannot be read, or, if
// tolerant, where none can; those that could not are in `warnings`, a line each.
Status read_inputs(const std::vector<std::string>& files, const InputOptions& options,
                   const std::function<void(profile::Profile)>& take,
                   std::vector<std::string>& warnings);

}  // namespace fbleprof::report
