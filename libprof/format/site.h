// The two kinds of call sites in a Node or an Edge.
#pragma once

#include <cstdint>

namespace fbleprof::format {

// With this bit, a site is not a return address but a place in a source file that the program
// announced: a line, and above it the file (String; 0 = unknown).
inline constexpr std::uint64_t kSiteIsPlace = std::uint64_t{1} << 63;
inline constexpr int kPlaceLineBits = 24;

}  // namespace fbleprof::format
