// The names of functions in DWARF.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>

#include "symbolize/line_info.h"

namespace fbleprof::symbolize {

inline constexpr int kMaxNesting = 256;  // entries inside entries; more is damage

// Whether this kind of entry gives its children a qualified name.
bool is_scope(int tag);

// Computes the names of each function once: all copies of an inlined function refer to one entry.
class DieNames {
 public:
  // The names of a function or an inlined call, and where it is declared. Valid as long as this
  // object.
  const SourceFrame& of(Dwarf_Die* die);

 private:
  std::string scope_of(Dwarf_Die function);
  void collect_scopes(Dwarf_Die* parent, const std::string& scope, int nesting);
  void collect_local_scopes(Dwarf_Die* part, Dwarf_Die* function, const std::string& scope,
                            int& lambdas, int nesting);

  std::unordered_map<const void*, SourceFrame> names_;  // by an entry's place in the file
  // The scopes of the functions of one unit, the last one asked for.
  const void* unit_ = nullptr;
  std::unordered_map<const void*, std::string> scopes_;
};

}  // namespace fbleprof::symbolize
