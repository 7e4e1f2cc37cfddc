// Paths of functions in one line.
#pragma once

#include <string>
#include <vector>

#include "report/text/names.h"

namespace fbleprof::report {

using Path = std::vector<profile::FunctionId>;

// "main → (eval → apply)* → lookup": a repetition is shown once, with a star. In at most `width`
// columns (0 = no limit): the least important names, in the middle, are replaced by their number:
// "… 7 more …".
std::string path_text(const Names& names, const Path& path, std::size_t width);

// The same for several paths in one list: paths that would look alike keep the part that differs.
std::vector<std::string> path_texts(const Names& names, const std::vector<Path>& paths,
                                    std::size_t width);

// The same for programs: whole names, escaped. "main → eval → apply → eval → lookup".
std::string raw_path(const Names& names, const Path& path);

}  // namespace fbleprof::report
