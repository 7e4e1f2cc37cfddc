#include "names/linkage.h"

#include <algorithm>

namespace fbleprof::names {
namespace {

constexpr std::string_view kCloneWords[] = {
    "cold",      "part",     "isra", "constprop", "lto_priv", "llvm",       "localalias", "clone",
    "localpart", "unlikely", "warm", "hot",       "resolver", "str",        "uniq",       "__uniq",
    "default",   "arch",     "avx2", "sve",       "__part",   "specialized"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_clone_word(std::string_view token) {
  for (std::string_view word : kCloneWords) {
    if (token == word) return true;
  }
  // gcc's target_clones and target attributes: "arch_haswell", "sse4_2", "avx512f".
  return token.starts_with("arch_") || token.starts_with("avx") || token.starts_with("sse4");
}

}  // namespace

LinkageName split_linkage_name(std::string_view name) {
  // From the end, over words of clones and numbers; the suffix begins with the first of these
  // words. A leading dot is part of the name.
  std::size_t begin = name.size();
  for (std::size_t end = name.size(); end != 0;) {
    const std::size_t dot = name.rfind('.', end - 1);
    if (dot == std::string_view::npos || dot == 0) break;
    const std::string_view token = name.substr(dot + 1, end - dot - 1);
    if (is_clone_word(token)) {
      begin = dot;
    } else if (!is_digits(token)) {
      break;
    }
    end = dot;
  }
  return {name.substr(0, begin), name.substr(begin)};
}

std::string_view renaming_word(std::string_view suffix) {
  constexpr std::string_view kWords[] = {".lto_priv.", ".llvm."};
  for (const std::string_view word : kWords) {
    const std::size_t begin = suffix.find(word);
    if (begin == std::string_view::npos) continue;
    const std::size_t end = suffix.find('.', begin + word.size());
    return suffix.substr(begin, end == std::string_view::npos ? end : end - begin);
  }
  return {};
}

bool is_whole_function(std::string_view linkage_name) {
  const std::string_view suffix = split_linkage_name(linkage_name).suffix;
  return suffix == renaming_word(suffix);
}

}  // namespace fbleprof::names
