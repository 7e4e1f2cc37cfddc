// Functions with room for a hook (arch/hook_sections.h).
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_table.h"

namespace fbleprof::symbolize {

// An address in each function of an x86-64 file that the recorder can make call its hook. `symbols`
// tell where a function begins that has NOPs before its entry.
std::vector<std::uint64_t> patchable_functions(const ElfObject& object,
                                               const std::vector<RawSymbol>& symbols);

}  // namespace fbleprof::symbolize
