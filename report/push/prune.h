// Makes a profile small enough for a server.
#pragma once

#include <cstdint>

#include "profile/profile.h"

namespace fbleprof::push {

inline constexpr std::size_t kMostSamples = 16'000;
inline constexpr std::uint64_t kMostBytes = 4 * 1024 * 1024;  // before compression

// The profile (one tree) with at most `most` contexts: the cheapest ones are removed, and their
// cost is charged to their callers. No sum changes.
profile::Profile prune(const profile::Profile& profile, const profile::Metric& metric,
                       std::size_t most);

}  // namespace fbleprof::push
