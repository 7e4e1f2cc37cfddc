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

// The profiles beside `path` that are named after it and began later, by name: those of child
// processes, and of programs after exec.
std::vector<std::string> profiles_named_after(const std::string& path);

// How many runs the profiles are of. There is no number of a run in a profile: those belong
// together whose times overlap, whose names say so, or whose processes are parent and child. A
// child process may outlive the others; an earlier run may have left files behind that are named
// like this one's.
std::size_t count_runs(const std::vector<std::string>& files);

}  // namespace fbleprof::profile
