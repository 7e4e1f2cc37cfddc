// --window: the part of a run that is shown.
#pragma once

#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "report/cli/options.h"

namespace fbleprof::report {

// Whether only a part is shown.
bool has_window(const Options& options);

// The requested part of one file's profile. Fails, with a line that names the file, if it has no
// such moments.
Result<profile::Profile> cut_window(profile::Profile profile, const Options& options);

// Why values of the metric do not measure the part that is shown; "" if they do.
std::string doubt_about_window(const profile::Profile& cut, const profile::Metric& metric,
                               const Options& options);

// Whether a thread waited longer than the window lasts: waits are charged when they end. `cut` must
// hold the trees of its threads.
bool holds_earlier_waits(const profile::Profile& cut);

// The options for the baseline: its own window, or none.
Options with_base_window(Options options);

}  // namespace fbleprof::report
