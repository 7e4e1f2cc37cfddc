// The functions of a whole file.
#pragma once

#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

// All functions that the module's symbol tables and unwind tables list. Options as for
// symbolize_module.
ModuleSymbols symbolize_all(const ModuleFile& module, const Options& options);

}  // namespace fbleprof::symbolize
