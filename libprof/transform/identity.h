// Which functions are one: those of the same module (by build-id, else name) and the same linkage
// name. Static functions that share a name are told apart as the module's symbol table says: see
// namesakes.h.
//
// Another profiler's file, and each format that this program exports, tells less than the recorder
// knows: it lacks the linkage name or the module. A function from such a file
// (FunctionKind::kImported) is matched with the recorded function that fits all that the file
// tells. So a profile that was exported and read back matches the recorded one function by
// function.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

// By function: its representative. A recorded function comes before imported ones. `untold`, if it
// is given, gets the functions that could not be told from others of their name.
std::vector<profile::FunctionId> same_functions(const profile::Profile& profile,
                                                const ModuleAliases& aliases,
                                                std::vector<profile::FunctionId>* untold = nullptr);

}  // namespace fbleprof::transform
