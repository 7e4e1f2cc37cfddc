// --annotate for people: a function's source and instructions with their costs.
#pragma once

#include <cstdint>
#include <string>

#include "report/views/annotated.h"

namespace fbleprof::report {

// Which of the two to show: --source, --asm, or both.
enum class AnnotateBy { kBoth, kSource, kInstructions };

// With callees, and without; 0 = no figures.
struct Figures {
  std::uint64_t total = 0, self = 0;
};

// Figures of an instruction; `next` continues through the function's instructions.
Figures figures_of(const Annotated& one, const symbolize::Instruction& at, std::size_t& next);

std::string annotated_text(const Request& request, const Look& look, const Annotated& one,
                           AnnotateBy by);

}  // namespace fbleprof::report
