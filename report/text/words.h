// Lists of words in one text, as registries hold them: "cost calls name".
#pragma once

#include <algorithm>
#include <string_view>

namespace fbleprof::report {

// Whether one of the words, which blanks part, is `word`.
inline bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace fbleprof::report
