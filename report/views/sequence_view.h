// --path a,b,c: a sequence of calls from all sides.
#pragma once

#include <string>

#include "base/result.h"
#include "report/text/input.h"

namespace fbleprof::report {

// `names`: patterns separated by commas (a comma inside <>, () or quotes separates nothing). Shows
// the cost and calls of each prefix, what goes in, what goes out, the hottest full paths. "≥" marks
// a lower bound, "≈" a count that is about right. Fails if a pattern names nothing.
Result<std::string> sequence_view(const Input& input, const std::string& names);

}  // namespace fbleprof::report
