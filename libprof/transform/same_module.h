// Which modules count as one: the builds of one program or library, in any directory.
//
// Two modules are one if they have the same build-id, or else the same base name. Paths tell
// modules apart only if modules of one base name (two plugins "core.so") were loaded together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// By base name: the name to use instead.
using ModuleAliases = std::map<std::string, std::string, std::less<>>;

// `profile` is of one file. Marks modules with equal base names and different paths, so that they
// stay apart among those of other files.
profile::Profile mark_twins(const profile::Profile& profile);

// A program that was renamed between two profiles gets its new name, if each profile is of one
// program only.
ModuleAliases renamed_program(const profile::Profile& base, const profile::Profile& now);

// By module: the name that identifies it; equal for modules that are one.
std::vector<std::string> module_identities(const profile::Profile& profile,
                                           const ModuleAliases& aliases = {});

}  // namespace fbleprof::transform
