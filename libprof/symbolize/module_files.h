// The files that can tell about a module: the one that ran, if it is still there and the same, and
// its debug file.
#pragma once

#include <optional>
#include <string>

#include "symbolize/elf_object.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

struct ModuleFiles {
  std::optional<ElfObject> object;  // none: gone or not the one that ran
  std::optional<ElfObject> debug;   // of the same build-id
  std::optional<ElfObject> mini;    // symbols that the object holds packed; only without `debug`
  std::string reason;               // why there is no object; "" = there is
  std::string warning;              // one line, why there are no names; "" = there may be
};

ModuleFiles open_module(const ModuleFile& module, const Options& options);

}  // namespace fbleprof::symbolize
