// Detects the kind of a file by its content; names and extensions are ignored.
#pragma once

#include <cstddef>
#include <string_view>

namespace fbleprof::importers {

enum class FileKind {
  kEmpty,
  kNative,      // mlmon.out
  kGzip,        // of any other kind here; pprof compresses its profiles
  kPprof,       // protobuf, not compressed
  kPerfScript,  // text that `perf script` printed
  kFolded,      // text: "main;work;inner 12"
  kSpeedscope,  // JSON of speedscope
  kGmon,        // gprof's gmon.out
  kElf,         // a program: needed with a gmon.out
  kPerfData,    // of `perf record`: only perf itself can print it
  kWriteOnly,   // of a tool that other exports are for: written here, not read
  kUnknown,
};

// How many bytes of a file's beginning detect() needs, if the file is that long.
inline constexpr std::size_t kDetectBytes = 65536;

// `head` is the file's beginning. Checks only what tells the kind: the file may still be damaged.
FileKind detect(std::string_view head);

// The format of a kWriteOnly file, for people; "" = another kind.
std::string_view write_only_format(std::string_view head);

}  // namespace fbleprof::importers
