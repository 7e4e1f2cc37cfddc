// Which functions of one file of code a filter leaves out.
//
// fble-prof-report makes the table, because it knows the functions' names; the recorder maps it.
// In the file: LeftOutHeader; LeftOutBoundary[], in order of addresses; the paths of all files in
// which the report looked for names, found or not, each ended by NUL. The table is out of date when
// one of them has changed: debug information was installed, or removed.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "plan/file_stamp.h"

namespace fbleprof::plan {

inline constexpr char kLeftOutMagic[8] = {'F', 'B', 'L', 'E', 'L', 'E', 'F', 'T'};
inline constexpr std::uint32_t kLeftOutVersion = 2;

struct LeftOutHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t count;         // of boundaries
  std::uint32_t first_is_out;  // 1: code before the first boundary is left out
  std::uint32_t paths_bytes;
  std::uint64_t stamp;  // of the files at these paths, before they were read
};

// The stamp of a list of files. Start with 0 and add each; null: there is no such file.
inline std::uint64_t add_to_stamp(std::uint64_t stamp, const struct stat* file) {
  const auto add = [&stamp](auto part) { stamp = mixed(stamp, static_cast<std::uint64_t>(part)); };
  add(file != nullptr);
  if (file == nullptr) return stamp;
  add(file->st_ino);
  add(file->st_size);
  add(file->st_mtim.tv_sec);
  add(file->st_mtim.tv_nsec);
  return stamp;
}

// From this address in the file on, up to the next boundary.
struct LeftOutBoundary {
  std::uint32_t address;
  std::uint32_t is_out;  // 1: left out
};

// The paths of a whole table.
inline const char* paths_of(const LeftOutHeader& header) {
  const auto* boundaries = reinterpret_cast<const LeftOutBoundary*>(&header + 1);
  return reinterpret_cast<const char*>(boundaries + header.count);
}

// Whether `size` bytes from the header on are a table of this version, with all of its parts and no
// more.
inline bool is_whole(const LeftOutHeader& header, std::uint64_t size) {
  return size >= sizeof header &&
         __builtin_memcmp(header.magic, kLeftOutMagic, sizeof header.magic) == 0 &&
         header.version == kLeftOutVersion && header.paths_bytes != 0 &&
         size == sizeof header + std::uint64_t{header.count} * sizeof(LeftOutBoundary) +
                     header.paths_bytes &&
         paths_of(header)[header.paths_bytes - 1] == 0;
}

static_assert(sizeof(LeftOutHeader) == 32 && sizeof(LeftOutBoundary) == 8);

}  // namespace fbleprof::plan
