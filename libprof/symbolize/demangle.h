// Turns linkage names into display names: C++ (Itanium ABI), Rust (legacy and v0), and what
// compilers add behind a dot.
//
// A symbol table may be hostile: a C++ name of 200 bytes can expand to gigabytes, because each
// substitution may double the text before it. So the demangler writes through a callback that stops
// it when the output is long enough. Only libiberty allows this, not abi::__cxa_demangle.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::symbolize {

inline constexpr std::size_t kMaxMangledBytes = 32 * 1024;
inline constexpr std::size_t kMaxDemangledBytes = 64 * 1024;

// The display name. Without the suffix of a part or a clone (names/linkage.h), which has the name
// of its function; with what else is behind a dot, which tells another function: "_Z1fv.resume" is
// "f() [resume]". A name that is not mangled, is too long, or would become too long is returned
// unchanged. Control characters are replaced by '?'. Pure; throws only for lack of memory.
std::string demangle(std::string_view linkage_name);

}  // namespace fbleprof::symbolize
