// --hot: straight to where the action is.
#pragma once

#include <string>

#include "report/text/input.h"

namespace fbleprof::report {

// The path from the root on which each is the dearest callee of the one before and has at least
// half of its cost; and what the last one forks into.
std::string hot_view(const Input& input);

}  // namespace fbleprof::report
