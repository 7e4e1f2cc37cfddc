// Turns files into text: the passes of fble-prof-report, each a pure step from profile to profile.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "base/result.h"
#include "report/cli/options.h"
#include "report/views/loaded.h"

namespace fbleprof::report {

struct Report {
  std::string text;                   // for stdout
  std::vector<std::string> warnings;  // for stderr, one line each
  bool is_written = false;            // --raw: the text was written already
  bool broken = false;                // --verify found a broken invariant, --fail-if a broken rule
};

// Reads the files that `options` name, and their baseline; names and merges the profiles.
Result<Loaded> load(const Options& options, Needs needs, Progress& progress);

// Does what `options` request. --raw writes its text itself, because it can be long.
Result<Report> make_report(const Options& options, Progress& progress);

}  // namespace fbleprof::report
