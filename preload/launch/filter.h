// The launcher's part of --only and --not: the report's program reads the names of functions for
// the recorder.
#pragma once

#include <string>

namespace fbleprof::launch {

// Checks a filter (FBLEPROF_FILTER) and sets the recorder's variables for it. Returns "", or one
// line that says what is wrong.
std::string prepare_filter(const std::string& filter);

}  // namespace fbleprof::launch
