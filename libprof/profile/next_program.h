// Finds the other profiles of a run: each program that a process becomes by exec has its own, and
// so has each child process.
#pragma once

#include <cstddef>
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

// How many profiles beside `path` are named after it and began later: those of child processes, and
// of programs after exec.
std::size_t count_profiles_named_after(const std::string& path);

}  // namespace fbleprof::profile
