// Classes of durations, for histograms.
#pragma once

#include <cstdint>

namespace fbleprof::format {

// The class of `ns`: 0 below `first` ns, 1 below 10 * `first`, and so on by factors of ten. The
// last class, `classes` - 1, has no upper end.
inline std::uint32_t decade_of(std::uint64_t ns, std::uint64_t first, std::uint32_t classes) {
  std::uint64_t limit = first;
  std::uint32_t which = 0;
  while (which + 1 < classes && ns >= limit) {
    limit *= 10;
    ++which;
  }
  return which;
}

}  // namespace fbleprof::format
