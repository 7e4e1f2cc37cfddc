// The parts of a demangled name. All of these are pure and linear in its length.
//
// They count brackets as they go and do not use the list of brackets from name_scan.h: a report
// asks for the parts of every function, and for most functions the end of the name is enough.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::names {

// The name up to its parameter list: "a::b(int) const" -> "a::b". Keeps templates and operators.
std::string_view without_parameters(std::string_view name);

// Its last part: "int geo::spin<a::b>(int)" -> "spin".
std::string_view unqualified(std::string_view name);

// The function of a sampled place: "f+0x1f" -> "f", "g (f+0x1f)" -> "g".
std::string_view function_of_place(std::string_view name);

// The scope of a name, without template arguments and parameters: "a::B<int>::f(long)" is in
// "a::B". "" = none. Names do not tell a class from a namespace, so both are scopes.
std::string scope_of(std::string_view name);
// The outermost part of the scope: "a".
std::string outermost_scope_of(std::string_view name);

}  // namespace fbleprof::names
