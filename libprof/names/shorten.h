// Names that fit on a line of a tree.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fbleprof::names {

// The number of columns that UTF-8 text takes on a terminal: one per character.
std::size_t width_of(std::string_view text);

// `text` in at most `width` columns, its end replaced by an ellipsis if it is longer.
std::string cut(std::string_view text, std::size_t width);

// Removes noise without losing information: `std::__cxx11::basic_string<char, ...>` becomes
// `std::string`, default arguments of std templates and ABI tags go, `> >` becomes `>>`, and
// `(anonymous namespace)` becomes `(anon)`. Pure; linear.
std::string tidy(std::string_view name);

// `name`, tidied, in at most `width` columns (0: as short as the rules make it, without cutting). A
// name that does not fit loses, in this order and only as far as needed: parameters and return type
// (`f(…)`), template arguments (`f<…>`, the innermost first), outer namespaces (`…::f`), and its
// end. In "[held by NAME]" the same happens to NAME. Pure; linear in the length of the name.
std::string shorten(std::string_view name, std::size_t width);

}  // namespace fbleprof::names
