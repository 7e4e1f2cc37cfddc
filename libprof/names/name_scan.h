// Scans a demangled name and tells brackets from operators: in `operator<< <int>(A<b>, (c)>d)` only
// some of the angles are brackets. Tidying and shortening both need this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fbleprof::names {

struct Bracket {
  std::size_t open, close;  // positions of the two brackets
  char kind;                // '<', '(' or '{'; '[' does not nest in names
  std::uint32_t depth;      // brackets of any kind around it
  std::uint32_t templates;  // angle brackets around it
};

inline bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || (c & 0x80) != 0;
}

// If an `operator` made of punctuation begins at `at`, the position behind it ("operator<<" is 10
// long); else `at`.
std::size_t skip_operator(std::string_view name, std::size_t at);

// All pairs of brackets, by opening position. Unbalanced brackets are left out.
std::vector<Bracket> brackets(std::string_view name);

}  // namespace fbleprof::names
