// Which bytes of a stranger's text a terminal may get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fbleprof {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with UTF-8
};

// The first character of a text that is not empty.
inline Character first_character(std::string_view text) {
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

// Control characters could move the cursor or set colours, bidirectional and invisible ones could
// disguise what is shown.
inline bool is_unsafe(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||  // controls
         code == 0xad || code == 0x61c ||                 // soft hyphen, Arabic mark
         (code >= 0x200b && code <= 0x200f) ||            // zero width, direction marks
         (code >= 0x2028 && code <= 0x202e) ||            // separators, embeddings, overrides
         (code >= 0x2060 && code <= 0x206f) ||            // invisible operators, isolates
         code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff) ||  // tags
         (code & 0xfffe) == 0xfffe;               // no characters
}

// Valid UTF-8 without control, bidirectional or invisible characters: those become \n, \x1b,
// \u202e, \U000e0001. Bytes that are not UTF-8 become \xff. Everything else stays. Each kind has
// its own number of digits, so what follows may be a digit, too.
inline std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto add = [&](char kind, std::uint32_t code, int digits) {
    out += '\\';
    out += kind;
    while (digits-- > 0) out += "0123456789abcdef"[code >> 4 * digits & 15];
  };
  for (std::size_t i = 0; i < text.size();) {
    const Character c = first_character(text.substr(i));
    if (c.bytes == 0) {
      add('x', static_cast<unsigned char>(text[i++]), 2);
      continue;
    }
    if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (is_unsafe(c.code)) {
      if (c.code < 0x100) {
        add('x', c.code, 2);
      } else if (c.code < 0x10000) {
        add('u', c.code, 4);
      } else {
        add('U', c.code, 8);
      }
    } else {
      out += text.substr(i, c.bytes);
    }
    i += c.bytes;
  }
  return out;
}

}  // namespace fbleprof
