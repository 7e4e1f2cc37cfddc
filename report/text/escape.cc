#include "report/text/escape.h"

#include <fmt/format.h>

#include "base/safe_text.h"

namespace fbleprof::report {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character c = first_character(text.substr(i));
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
      continue;
    }
    if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (is_unsafe(c.code)) {
      out += c.code < 0x100     ? fmt::format("\\x{:02x}", c.code)
             : c.code < 0x10000 ? fmt::format("\\u{:04x}", c.code)
                                : fmt::format("\\U{:08x}", c.code);
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) columns += (c & 0xc0) != 0x80;
  return columns;
}

std::string cut(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t columns = 0, i = 0;
  for (; i < text.size(); ++i) {
    if ((text[i] & 0xc0) != 0x80 && columns++ == width - 1) break;
  }
  return std::string(text.substr(0, i)) + "…";
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

}  // namespace fbleprof::report
