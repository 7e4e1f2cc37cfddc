// Lists of words in one text, separated by blanks.
#pragma once

#include <algorithm>
#include <string_view>

namespace fbleprof::report {

// Whether `word` is one of them.
inline bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace fbleprof::report
