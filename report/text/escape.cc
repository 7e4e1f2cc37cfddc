#include "report/text/escape.h"

namespace fbleprof::report {

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

}  // namespace fbleprof::report
