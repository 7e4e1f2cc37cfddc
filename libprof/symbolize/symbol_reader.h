// Reads the symbols of an ELF file's code.
#pragma once

#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// Symbols of code in .symtab and .dynsym. The names point into the file. Object files are numbered
// by their place in .symtab.
std::vector<RawSymbol> read_symbols(const ElfObject& object);

}  // namespace fbleprof::symbolize
