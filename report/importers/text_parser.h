// Importers of text receive one line at a time, so that a pipe is never held whole.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::importers {

class TextParser {
 public:
  // `name` stands for the file in messages and in the profile.
  explicit TextParser(std::string name) : name_(std::move(name)) {}
  virtual ~TextParser() = default;

  // The next line, without its end. After an error the parser must not be used.
  Status line(std::string_view text) {
    ++line_number_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    return parse(text);
  }
  // The profile of the lines. Called once, after the last one.
  virtual Result<profile::Profile> finish() = 0;

 protected:
  virtual Status parse(std::string_view text) = 0;
  Error damage(std::string_view what, std::string remedy) const {
    return {name_, {}, fmt::format("line {}: {}", line_number_, what), std::move(remedy)};
  }

  const std::string name_;
  std::uint64_t line_number_ = 0;
};

// All lines of a text that is in memory.
inline Result<profile::Profile> parse_text(TextParser& parser, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (Status bad = parser.line(text.substr(0, end))) return *bad;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parser.finish();
}

}  // namespace fbleprof::importers
