// Finds `main` in a stripped program.
#pragma once

#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/relocations.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// `_start` and `main`, if the file is a program whose first instructions pass an address to
// __libc_start_main (x86-64): that address is main.
std::vector<RawSymbol> read_start_code(const ElfObject& object, const Relocations& relocations);

}  // namespace fbleprof::symbolize
