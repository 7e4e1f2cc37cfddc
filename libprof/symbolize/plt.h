// The stubs through which code calls functions of other files.
#pragma once

#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/relocations.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// The stubs of the PLT, each named after its target, found by decoding the stubs (x86-64 and
// aarch64). This works in stripped files too.
std::vector<RawSymbol> read_plt(const ElfObject& object, const Relocations& relocations);

}  // namespace fbleprof::symbolize
