// A part of a merged profile's tree: some subtrees are removed; nothing moves and nothing is
// merged.
//
// Does the work of rebuild.h for the most frequent case: the remaining nodes keep their order, so
// that columns are copied run by run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/origin.h"
#include "profile/profile.h"

namespace fbleprof::transform {

// By node: `kept_subtree` 0 drops it and all below (its parent may then be kept, but no child);
// `kept_own` 0 keeps it as a step of paths, without values and calls of its own. Nothing if the
// profile is not one tree whose edges are in the order that rebuild() makes. `origin`, if not null,
// receives where the contexts come from.
std::optional<profile::Profile> subset(const profile::Profile& source,
                                       const std::vector<std::uint8_t>& kept_subtree,
                                       const std::vector<std::uint8_t>& kept_own,
                                       profile::Origin* origin = nullptr);

}  // namespace fbleprof::transform
