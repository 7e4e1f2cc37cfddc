// Which modules are one to people: the builds of one program or library, in whatever directory
// each of them stood.
//
// Two modules are one if they have the same build-id, or else the same base name. Only modules of
// one base name that were loaded side by side (two plugins "core.so") are known by their paths.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// By base name: the one that it goes by.
using ModuleAliases = std::map<std::string, std::string, std::less<>>;

// `profile` is of one file. Marks its modules of equal base names and different paths, so that they
// stay apart among those of other files.
profile::Profile mark_twins(const profile::Profile& profile);

// A program that was renamed between two profiles goes by its new name: if each of them is of one
// program alone.
ModuleAliases renamed_program(const profile::Profile& base, const profile::Profile& now);

// By module: what names it among people; equal for those that are one.
std::vector<std::string> module_identities(const profile::Profile& profile,
                                           const ModuleAliases& aliases = {});

}  // namespace fbleprof::transform
