// The text of source files that debug info names. Nothing else is ever read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fbleprof::symbolize {

inline constexpr std::uint64_t kMaxSourceBytes = 32 * 1024 * 1024;

class SourceText {
 public:
  // Reads a regular file of at most kMaxSourceBytes. `recorded_ns` (since 1970; 0 = unknown) is the
  // time of the recording: a file that was changed later gets a note.
  static SourceText read(const std::string& path, std::uint64_t recorded_ns);

  // Lines count from 1; "" beyond the end. Without the line break, not escaped.
  std::string_view line(std::uint32_t number) const;
  std::uint32_t count() const { return static_cast<std::uint32_t>(begins_.size()); }
  bool available() const { return !begins_.empty(); }
  // One line for the user: why there is no text, or why it may mislead; "" = no problem.
  const std::string& note() const { return note_; }

 private:
  std::string text_;
  std::vector<std::size_t> begins_;  // of each line
  std::string note_;
};

}  // namespace fbleprof::symbolize
