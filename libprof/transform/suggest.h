// What a user may have meant by a name that names nothing.
#pragma once

#include <span>
#include <string>

#include "profile/profile.h"

namespace fbleprof::transform {

// `did you mean "geo::spin"?`: up to three of the candidates' names that are, or hold, `pattern`,
// whatever the case, scopes and parameters, or that a slip or two of the fingers made it of;
// `otherwise` if there is none. Names are not escaped.
std::string likely_meant(const profile::Profile& profile,
                         std::span<const profile::FunctionId> candidates,
                         const std::string& pattern, std::string otherwise);

// Of the functions that stand in the tree.
std::string likely_meant(const profile::Profile& profile, const std::string& pattern,
                         std::string otherwise = "see --self for the names");

}  // namespace fbleprof::transform
