// The files that describe a module: the one that ran, if it still exists unchanged, and its debug
// file.
#pragma once

#include <optional>
#include <string>

#include "symbolize/elf_object.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

struct ModuleFiles {
  std::optional<ElfObject> object;  // none: missing, or not the one that ran
  std::optional<ElfObject> debug;   // of the same build-id
  std::optional<ElfObject> mini;    // the object's compressed symbols; only without `debug`
  std::string reason;               // why there is no object; "" = there is
  std::string warning;              // one line, why there are no names; "" = names are possible
};

ModuleFiles open_module(const ModuleFile& module, const Options& options);

}  // namespace fbleprof::symbolize
