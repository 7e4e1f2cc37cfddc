// Paths of functions in one line.
#pragma once

#include <string>
#include <vector>

#include "report/text/input.h"

namespace fbleprof::report {

// "main → (eval → apply)* → lookup": what repeats is told once, with a star. In at most `width`
// columns (0 = no limit): the names that matter least, in the middle, are counted: "… 7 more …".
std::string path_text(const Input& input, const std::vector<profile::FunctionId>& path,
                      std::size_t width);

// The same for programs: whole names, as they are, escaped. "main → eval → apply → eval → lookup".
std::string raw_path(const Input& input, const std::vector<profile::FunctionId>& path);

}  // namespace fbleprof::report
