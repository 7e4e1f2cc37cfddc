// A profile made ready to stand beside the one that is compared with it.
#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// The name of a metric of the baseline.
std::string baseline_name(std::string_view metric);

// The same profile, its metrics renamed so that joining (join.h) and merging (merge.h) it with
// another one keeps the values of both apart, node by node. The calls of its edges become a metric
// like the others; its edges, then, have none.
profile::Profile as_baseline(const profile::Profile& profile);

// If `profile` is an import through and through and `other` is not: the same profile, its functions
// no longer named blocks but native ones, which meet those of `other` by name.
profile::Profile like_recorded(const profile::Profile& profile, const profile::Profile& other);

}  // namespace fbleprof::transform
