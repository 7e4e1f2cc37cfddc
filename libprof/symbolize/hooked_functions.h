// Which functions of a file have a hook: all that could have been entered, to find those that never
// were.
#pragma once

#include <string>
#include <vector>

#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

struct HookedFunctions {
  std::vector<FunctionSymbol> functions;  // by `begin`, each once
  std::string warning;                    // one line, why the file says nothing; "" = it does
};

// Of x86-64 files: functions whose code calls mcount, __fentry__ or __cyg_profile_func_enter,
// through the PLT or through the slot that the dynamic linker fills, and functions that the
// recorder can make call a hook. Options as for symbolize_module.
HookedFunctions hooked_functions(const ModuleFile& module, const Options& options);

}  // namespace fbleprof::symbolize
