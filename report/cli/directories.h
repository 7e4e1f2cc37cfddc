// A directory stands for the profiles in it: those of a pipeline, a build or a chain of programs.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::report {

// `names` with each directory replaced by the profiles in it, sorted by name, without those of
// previous runs (.old) and of child processes of sampled runs (--runs 2). A directory without
// profiles stays, and reading it fails.
std::vector<std::string> with_directories_read(const std::vector<std::string>& names);

// `names`, each followed by the other profiles of its run: those of the programs that replaced its
// own, and of child processes. Like directories, without those of sampled runs.
std::vector<std::string> with_children(const std::vector<std::string>& names);

}  // namespace fbleprof::report
