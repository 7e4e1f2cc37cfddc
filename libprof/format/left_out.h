// A function that the user's filter left out (--only, --not): it is in no tree, and its calls are
// not counted.
#pragma once

#include <cstdint>

namespace fbleprof::format {

inline constexpr std::uint16_t kFunctionLeftOut = 4;  // of Function::flags

}  // namespace fbleprof::format
