// Functions that would look the same in one table: two libraries each have a static `helper`.
#pragma once

#include <vector>

#include "report/text/input.h"

namespace fbleprof::report {

// `input` for a table for people that shows these functions. Behind the names of those that share
// one stands the module, where that tells them apart, else the source file, else module and
// address: "helper [libfoo.so]".
Input with_marks(const Input& input, std::vector<profile::FunctionId> shown);

}  // namespace fbleprof::report
