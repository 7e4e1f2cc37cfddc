// Opens the files that the user named, detects their kind, and reads them: mlmon.out or another
// profiler's.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "profile/file_image.h"
#include "profile/profile.h"

namespace fbleprof::report {

struct InputOptions {
  bool tolerant = false;  // an unreadable file is a warning
  Progress* progress = nullptr;
  bool plain_runs = false;  // only the sampled run in each file; files without one are skipped
  bool symbols = true;      // look for the names of generated code
};

// The sampled runs (--runs 2) in the files that were read.
struct PlainRuns {
  std::set<std::string> files;  // which can be read again for it
  bool any = false;             // in these or in others
  bool any_piped = false;       // some file, with such a run or without, can be read only once
};

// Calls `take` with the profile of each file in turn; "-" is stdin. A program among the files is
// not a profile, but a gmon.out beside it needs it. Fails at the first file that cannot be read,
// or, if tolerant, if none can; those that could not are in `warnings`, a line each.
Status read_inputs(const std::vector<std::string>& files, const InputOptions& options,
                   const std::function<void(profile::Profile)>& take,
                   std::vector<std::string>& warnings, PlainRuns& plain_runs);

// The mlmon.out of that name, as it is; "-" is stdin.
Result<profile::FileImage> load_image(const std::string& file);

}  // namespace fbleprof::report
