// --pack and --trim, which change profiles instead of showing them.
#pragma once

#include "report/cli/options.h"
#include "report/cli/report.h"

namespace fbleprof::report {

// Adds the names of its functions to each file, or to a copy of the only one (-o).
Result<Report> pack_files(const Options& options, Progress& progress);

// Cuts off the unused end of each file.
Result<Report> trim_files(const Options& options);

}  // namespace fbleprof::report
