// Lines for the user, on stderr.
#pragma once

#include <string_view>

namespace fbleprof::report {

// Prints the line, escaped. That stderr cannot be written is nothing that could be told there, and
// no reason to give up the report.
void say(std::string_view line);

}  // namespace fbleprof::report
