// Files with names of generated code that a runtime writes while the program runs.
#pragma once

#include "capture/kernel_file.h"

namespace fbleprof::capture {

// Whether this user wrote the file since this profile began.
bool is_of_this_process(const File& file);

inline constexpr std::uint64_t kMostBytesOfRuntimeFile = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kLineBufferBytes = 64 << 10;

struct Line {
  const char* text = nullptr;
  std::uint32_t bytes = 0;   // without the newline
  std::uint64_t offset = 0;  // in the file
};

// The lines of a file, one after the other. One that is longer than the buffer is cut.
class Lines {
 public:
  // `buffer` has kLineBufferBytes.
  Lines(const File& file, char* buffer) : file_(file), buffer_(buffer) {}

  // False at the end. The line is valid until the next call.
  bool next(Line* line);

 private:
  bool fill(std::uint64_t* end);

  const File& file_;
  char* buffer_;
  std::uint64_t offset_ = 0;  // of the buffer in the file
  std::uint64_t at_ = 0, filled_ = 0;
};

}  // namespace fbleprof::capture
