// Numbers that say whether a file is still the one that a plan, or a table, was made of.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace fbleprof::plan {

inline std::uint64_t mixed(std::uint64_t stamp, std::uint64_t part) {
  stamp = (stamp ^ part) * 0x9e3779b97f4a7c15u;
  return stamp ^ stamp >> 32;
}

// Part of the name of what is kept about a file of code, behind its build-id, as "-" and hex
// digits. A build-id alone does not do: strip, objcopy and patches keep it, and the linker can be
// given one. Copies with the file's time, as in images of containers, have the same mark. Without a
// build-id, other files may have the same length and time.
struct FileMark {
  char text[18];

  FileMark(const struct stat& file, bool has_build_id) : text{'-'} {
    std::uint64_t stamp = mixed(0, static_cast<std::uint64_t>(file.st_size));
    stamp = mixed(stamp, static_cast<std::uint64_t>(file.st_mtim.tv_sec));
    stamp = mixed(stamp, static_cast<std::uint64_t>(file.st_mtim.tv_nsec));
    if (!has_build_id) stamp = mixed(mixed(stamp, file.st_dev), file.st_ino);
    for (int i = 0; i < 16; ++i) text[1 + i] = "0123456789abcdef"[stamp >> (60 - 4 * i) & 15];
  }
};

}  // namespace fbleprof::plan
