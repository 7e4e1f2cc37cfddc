// What a file is, told by its content: names and extensions are not looked at.
#pragma once

#include <cstddef>
#include <string_view>

namespace fbleprof::importers {

enum class FileKind {
  kEmpty,
  kNative,      // mlmon.out
  kGzip,        // of anything else here; pprof writes its profiles so
  kPprof,       // protobuf, not compressed
  kPerfScript,  // text that `perf script` printed
  kFolded,      // text: "main;work;inner 12"
  kSpeedscope,  // JSON of speedscope
  kGmon,        // gprof's gmon.out
  kElf,         // a program: of use beside a gmon.out
  kPerfData,    // what `perf record` writes: perf itself has to print it
  kUnknown,
};

// How much of a file's beginning detect() wants to see, if there is that much.
inline constexpr std::size_t kDetectBytes = 65536;

// `head` is the file's beginning. Only what tells the kind is looked at: the file may be damaged.
FileKind detect(std::string_view head);

}  // namespace fbleprof::importers
