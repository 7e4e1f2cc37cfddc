// --annotate: the self cost of a function by source line and by instruction.
#pragma once

#include <string>

#include "base/result.h"
#include "report/text/input.h"

namespace fbleprof::report {

// Which of the two to show: --source, --asm, or both.
enum class AnnotateBy { kBoth, kSource, kInstructions };

// All functions that `pattern` names, dearest first; text shows 5 unless --top says otherwise.
// CSV has one kind of rows: lines, or with kInstructions instructions.
Result<std::string> annotate_view(const Input& input, const std::string& pattern, AnnotateBy by);

}  // namespace fbleprof::report
