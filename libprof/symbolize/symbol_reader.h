// Reads what an ELF file says about the names of its code.
#pragma once

#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// Symbols of code in .symtab and .dynsym. Their names point into the file.
std::vector<RawSymbol> read_symbols(const ElfObject& object);

// The stubs of the PLT, named after the function that each jumps to, told by decoding the stubs
// (x86-64 and aarch64). `named` gives names to stubs of IFUNCs that are not exported.
std::vector<RawSymbol> read_plt(const ElfObject& object, const std::vector<RawSymbol>& named);

}  // namespace fbleprof::symbolize
