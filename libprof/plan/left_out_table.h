// Which functions of one file of code a filter leaves out.
//
// fble-prof-report makes the table, because it knows the functions' names; the recorder maps it.
// In the file: LeftOutHeader, LeftOutBoundary[], in order of addresses.
#pragma once

#include <cstdint>

namespace fbleprof::plan {

inline constexpr char kLeftOutMagic[8] = {'F', 'B', 'L', 'E', 'L', 'E', 'F', 'T'};
inline constexpr std::uint32_t kLeftOutVersion = 1;

struct LeftOutHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t count;         // of boundaries
  std::uint32_t first_is_out;  // 1: code before the first boundary is left out
  std::uint32_t reserved;
};

// From this address in the file on, up to the next boundary.
struct LeftOutBoundary {
  std::uint32_t address;
  std::uint32_t is_out;  // 1: left out
};

static_assert(sizeof(LeftOutHeader) == 24 && sizeof(LeftOutBoundary) == 8);

}  // namespace fbleprof::plan
