// fble-prof-report --left-out FILTER [FILE MODULE ...]: the report's part of fble-prof --only and
// --not. The recorder knows no names of functions, so it calls this to learn where in a module the
// code is that a filter leaves out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fbleprof::report {

// A filter is a list of patterns (transform/matcher.h), separated by semicolons; "!" before one
// means that what it names is left out, else it is kept. The last pattern that names a function
// decides. If none does, the function is left out if the first pattern keeps something.
//
// Writes the table (plan/left_out_table.h) of each module. Fails on a bad pattern, or if a table
// cannot be written. Modules that cannot be read get a table by their path alone.
Status write_left_out_tables(const std::vector<std::string>& words);

}  // namespace fbleprof::report
