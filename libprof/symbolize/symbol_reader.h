// Reads what an ELF file says about the names of its code.
#pragma once

#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// Symbols of code in .symtab and .dynsym. Their names point into the file.
std::vector<RawSymbol> read_symbols(const ElfObject& object);

}  // namespace fbleprof::symbolize
