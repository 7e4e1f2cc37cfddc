// The parts of a demangled name. All of these are pure and linear in its length.
//
// They count brackets as they go, and don't use the list of brackets that name_scan.h makes for
// tidying and shortening: a report asks for the parts of every function, and for most of them one
// look at the end of the name is enough.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::names {

// The name up to its parameter list: "a::b(int) const" -> "a::b". Templates and operators kept.
std::string_view without_parameters(std::string_view name);

// Its last part: "int geo::spin<a::b>(int)" -> "spin".
std::string_view unqualified(std::string_view name);

// The function of a sampled place: "f+0x1f" -> "f", "g (f+0x1f)" -> "g".
std::string_view function_of_place(std::string_view name);

// The scope a name stands in, template arguments and parameters taken out: "a::B<int>::f(long)" is
// in "a::B". "" = in none. Names don't tell a class from a namespace, so both are scopes.
std::string scope_of(std::string_view name);
// The outermost part of the scope: "a".
std::string outermost_scope_of(std::string_view name);

}  // namespace fbleprof::names
