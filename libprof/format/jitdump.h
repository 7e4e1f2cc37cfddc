// The layout of a jitdump, in which runtimes describe the code that they generate. The Linux
// sources describe it: jitdump-specification.txt. All fields have the machine's byte order.
#pragma once

#include <cstdint>

namespace fbleprof::format::jitdump {

struct Header {
  std::uint32_t magic, version, bytes, machine, padding, pid;
  std::uint64_t time, flags;
};
inline constexpr std::uint32_t kMagic = 0x4A695444;
inline constexpr std::uint64_t kTimesOfProcessor = 1;  // else CLOCK_MONOTONIC

struct RecordHead {
  std::uint32_t kind, bytes;
  std::uint64_t time;
};
enum RecordKind : std::uint32_t { kLoad = 0, kMove = 1, kLines = 2 };

struct LoadRecord {
  RecordHead head;
  std::uint32_t pid, tid;
  std::uint64_t virtual_address, address, size, index;
};  // and the name, NUL-terminated

struct MoveRecord {
  RecordHead head;
  std::uint32_t pid, tid;
  std::uint64_t virtual_address, from, to, size, index;
};

// A record of lines is in front of the function that it describes.
struct LinesRecord {
  RecordHead head;
  std::uint64_t address, count;
};  // and the entries

struct LineEntry {
  std::uint64_t address;
  std::uint32_t line, discriminator;
};  // and the file, NUL-terminated

}  // namespace fbleprof::format::jitdump
