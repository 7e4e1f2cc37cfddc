// A part of a merged profile's tree: some subtrees are gone, nothing moves and nothing becomes one.
//
// What rebuild.h does for any forest, for the most frequent case: what remains stands in the order
// in which it stood, so that columns are copied run by run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// By node: `kept_subtree` 0 = it and all below are dropped (its parent, then, may be kept, but no
// child); `kept_own` 0 = it stays as a step of paths, without values and calls of its own. Nothing
// if the profile is not one tree whose edges stand as rebuild() puts them.
std::optional<profile::Profile> subset(const profile::Profile& source,
                                       const std::vector<std::uint8_t>& kept_subtree,
                                       const std::vector<std::uint8_t>& kept_own);

}  // namespace fbleprof::transform
