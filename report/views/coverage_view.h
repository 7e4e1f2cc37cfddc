// --coverage: what was never entered.
#pragma once

#include <string>

#include "base/result.h"
#include "report/text/input.h"

namespace fbleprof::report {

// A row a function that has a hook: those never entered for people, all for programs. With
// `pattern` only those that it names; fails if it names none. `input` holds a merged profile that
// was not filtered. Reads the files of the modules that were loaded.
Result<std::string> coverage_view(const Input& input, const std::string& pattern);

}  // namespace fbleprof::report
