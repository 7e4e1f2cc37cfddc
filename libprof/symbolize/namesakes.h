// Tells the functions of one module apart that share a name.
//
// A symbol table lists the local symbols of each object file behind the name of its source file
// (STT_FILE). So static functions of one name are known by the file, and the parts and clones of a
// function ("f.part.0", which are local symbols) belong to the function of their own file. A part
// of a global function belongs to it only if no other file can have a function of that name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profile/namesakes.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

struct ToldApart {
  struct Symbol {
    std::uint32_t unit = 0;  // index into `units`
    profile::Namesakes namesakes = profile::Namesakes::kNone;
  };
  std::vector<std::string> units;  // the first is ""
  std::vector<Symbol> symbols;     // as the argument
};

// Symbols with the same name, without the suffixes of parts and clones, and the same unit are one
// function. Pure. `symbols` are sorted by address.
ToldApart tell_apart(std::span<const RawSymbol> symbols);

}  // namespace fbleprof::symbolize
