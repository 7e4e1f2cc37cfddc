// fble-prof attach --only and --not: gives the recorder in a running program the tables of what its
// filter leaves out.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace fbleprof::attach {

// Makes the tables (plan/left_out_table.h) of the modules at these paths; empty ones where that is
// not possible.
using MakeTables = std::function<std::vector<std::string>(const std::vector<std::string>& modules)>;

// Call it before the recorder, which must be in the process, begins to record. Fails if its filter
// is not this one: it keeps that of its first attach.
Status leave_functions_out(pid_t pid, const std::string& library, const std::string& filter,
                           const MakeTables& make_tables);

}  // namespace fbleprof::attach
