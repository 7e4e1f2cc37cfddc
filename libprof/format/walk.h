// What a function's record tells of walked stacks.
#pragma once

#include <cstdint>

namespace fbleprof::format {

// Function::flags: a walk went on from this function to its caller by the frame pointer, because
// the code has no unwind table. The step was checked, but may have left out a caller.
inline constexpr std::uint16_t kFunctionLeftByFramePointer = 32;

}  // namespace fbleprof::format
