#include "report/text/escape.h"

#include "names/shorten.h"

namespace fbleprof::report {

std::size_t width_of(std::string_view text) { return names::columns(text); }

std::string cut(std::string_view text, std::size_t width) { return names::cut(text, width); }

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t have = width_of(text);
  return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

}  // namespace fbleprof::report
