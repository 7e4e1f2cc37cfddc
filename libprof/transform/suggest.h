// What a user may have meant by a name that matches nothing.
#pragma once

#include <span>
#include <string>

#include "profile/profile.h"

namespace fbleprof::transform {

// `did you mean "geo::spin"?`: up to three candidates that equal or contain `pattern`, ignoring
// case, scopes and parameters, or that differ by one or two typing errors; `otherwise` if there are
// none. Names are not escaped.
std::string likely_meant(const profile::Profile& profile,
                         std::span<const profile::FunctionId> candidates,
                         const std::string& pattern, std::string otherwise);

// Suggests functions that are in the tree.
std::string likely_meant(const profile::Profile& profile, const std::string& pattern,
                         std::string otherwise = "see --self for the names");

}  // namespace fbleprof::transform
