// Finds how a process went on after exec: each program that it becomes has its own profile.
#pragma once

#include <string>
#include <vector>

#include "format/format.h"

namespace fbleprof::profile {

// The profile beside `path` of the program that replaced the one that `header` describes: of the
// same process, and the first that began later. Only files whose names contain the process id are
// found; the recorder's default names do. "" = there is none.
std::string profile_after_exec(const std::string& path, const format::Header& header);

// `path`, and the profiles of all programs that followed in its process.
std::vector<std::string> with_profiles_after_exec(const std::string& path);

}  // namespace fbleprof::profile
