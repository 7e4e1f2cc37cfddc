// Where a process goes on after exec: each program that it becomes has a profile of its own.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace fbleprof::profile {

// The profile beside `path` of the program that took the place of the one that `header` describes:
// of the same process, and the first that began later. Known by their names are those that hold the
// process id, as the recorder names them unless told otherwise. "" = there is none.
std::string profile_after_exec(const std::string& path, const format::Header& header);

// `path`, and the profiles of all programs that followed in its process.
std::vector<std::string> with_profiles_after_exec(const std::string& path);

}  // namespace fbleprof::profile
