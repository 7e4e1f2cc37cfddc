// Turns linkage names into display names: C++ (Itanium ABI), Rust (legacy and v0), and the suffixes
// that compilers add to clones.
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

// A linkage name and the suffix of a clone: "_Z3foov.part.0.cold" is "_Z3foov" and ".part.0.cold".
struct SplitName {
  std::string_view base;
  std::string_view suffix;  // "" or begins with a dot
};
SplitName split_clone_suffix(std::string_view linkage_name);

// The display name, without the suffix of a clone. A name that is not mangled, is too long, or
// would become too long is returned unchanged. Control characters are replaced by '?'. Pure; throws
// only for lack of memory.
std::string demangle(std::string_view linkage_name);

}  // namespace fbleprof::symbolize
