// The launcher's part of --only and --not: the report's program reads the names of functions for
// the recorder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fbleprof::launch {

// The recorder's settings for a filter: the program that makes tables of what the filter leaves
// out, and the folder for them.
struct FilterFiles {
  std::string tool, tables;
};

// Checks a filter (FBLEPROF_FILTER). The error is one line that says what is wrong.
Result<FilterFiles> prepare_filter(const std::string& filter);

// Makes the tables (plan/left_out_table.h) of these modules; empty ones where that is not possible.
std::vector<std::string> tables_of(const std::string& filter,
                                   const std::vector<std::string>& modules);

}  // namespace fbleprof::launch
