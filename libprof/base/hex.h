// Bytes as lower-case hexadecimal, two digits each.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof {

inline std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace fbleprof
