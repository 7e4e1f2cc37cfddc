// Two runs in one file: `fble-prof --exact --runs 2` puts the whole file of the sampled run behind
// the last record of the counted run. Readers of records do not look there.
//
//     counted run, header.used_bytes | sampled run, its used_bytes | PlainRunEnd
#pragma once

#include <cstdint>

namespace fbleprof::format {

inline constexpr char kPlainRunMagic[8] = {'F', 'B', 'L', 'E', 'P', 'L', 'R', 'N'};

struct PlainRunEnd {
  std::uint64_t offset;  // of the sampled run's header
  std::uint64_t bytes;
  char magic[8];
};
static_assert(sizeof(PlainRunEnd) == 24);

}  // namespace fbleprof::format
