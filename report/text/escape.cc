#include "report/text/escape.h"

namespace fbleprof::report {

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
