// Which functions are one: those of the same module (by build-id, else name) and the same linkage
// name. File and line only tell namesakes apart, as several static functions can share a name.
//
// Another profiler's file, and each format that this program writes, tells less than the recorder
// knows: a name without its linkage name, or without its module. A function from such a file
// (FunctionKind::kImported) is the function that it must be by all that the file does tell. So a
// profile that was exported and read back meets the recorded one function by function.
#pragma once

#include <vector>

#include "profile/profile.h"
#include "transform/same_module.h"

namespace fbleprof::transform {

// By function: the one that stands for it. A recorded one comes before imported ones.
std::vector<profile::FunctionId> same_functions(const profile::Profile& profile,
                                                const ModuleAliases& aliases);

}  // namespace fbleprof::transform
