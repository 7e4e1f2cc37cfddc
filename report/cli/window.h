// --window: the part of a run that is shown.
#pragma once

#include "base/result.h"
#include "profile/profile.h"
#include "report/cli/options.h"

namespace fbleprof::report {

// Whether only a part is shown.
bool has_window(const Options& options);

// The requested part of one file's profile. Fails, with a line that names the file, if it has no
// such moments.
Result<profile::Profile> cut_window(profile::Profile profile, const Options& options);

// The options for the baseline: its own window, or none.
Options with_base_window(Options options);

}  // namespace fbleprof::report
