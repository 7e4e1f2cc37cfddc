// --serve: the command line's profiles, shown by report/web.
#pragma once

#include <string>

#include "base/result.h"
#include "report/cli/options.h"

namespace fbleprof::report {

Status serve(const Options& options, const std::string& version);

}  // namespace fbleprof::report
