#include "report/text/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace fbleprof::report {
namespace {

struct Decoded {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto rest = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first < 0xe0 && rest(1)) {
    return {(first & 0x1fu) << 6 | (byte(1) & 0x3fu), 2};
  }
  if (first >= 0xe0 && first < 0xf0 && rest(1) && rest(2)) {
    const std::uint32_t code = (first & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code >= 0x800 && !surrogate) return {code, 3};
  }
  if (first >= 0xf0 && first < 0xf5 && rest(1) && rest(2) && rest(3)) {
    const std::uint32_t code = (first & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 |
                               (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    if (code >= 0x10000 && code <= 0x10ffff) return {code, 4};
  }
  return {};
}

bool is_unsafe(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||  // controls
         code == 0xad || code == 0x61c ||                 // soft hyphen, Arabic mark
         (code >= 0x200b && code <= 0x200f) ||            // zero width, direction marks
         (code >= 0x2028 && code <= 0x202e) ||            // separators, embeddings, overrides
         (code >= 0x2060 && code <= 0x206f) ||            // invisible operators, isolates
         code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff) ||  // tags
         (code & 0xfffe) == 0xfffe;               // no characters
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded c = decode(text.substr(i));
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
      continue;
    }
    if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (is_unsafe(c.code)) {
      out += c.code < 0x100 ? fmt::format("\\x{:02x}", c.code) : fmt::format("\\u{:04x}", c.code);
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
