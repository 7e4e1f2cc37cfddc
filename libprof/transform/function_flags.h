// Joins what two profiles, or two records of one, say about the same function.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::transform {

// The flags of both. Of two reasons why calls were not counted, the first one stays.
constexpr std::uint16_t joined_flags(std::uint16_t a, std::uint16_t b) {
  constexpr int kShift = format::kFunctionReasonShift;
  const int reason = a >> kShift != 0 ? a >> kShift : b >> kShift;
  return static_cast<std::uint16_t>(((a | b) & ((1 << kShift) - 1)) | reason << kShift);
}

}  // namespace fbleprof::transform
