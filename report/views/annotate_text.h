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

// What no line and no instruction has.
Figures figures_elsewhere(const Annotated& one);
// What that is; "" = nothing. `total`: of these figures.
std::string words_elsewhere(std::uint64_t total, std::uint64_t without_address);

std::string annotated_text(const Request& request, const Look& look, const Annotated& one,
                           AnnotateBy by);

}  // namespace fbleprof::report
