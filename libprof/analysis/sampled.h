// Which contexts were counted, and which only samples saw.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::analysis {

// By node: 1 for contexts of functions that no hook or block counted. How often they were entered
// is unknown. The root, groups, [overflow] and the like are neither counted nor sampled.
std::vector<std::uint8_t> sampled_contexts(const profile::Profile& profile);

// Whether only samples saw an edge, and it leads to code: its calls are unknown.
bool is_sampled(const profile::Profile& profile, profile::EdgeId edge);

// Whether samples kept their addresses (fble-prof --leaves).
bool has_sampled_addresses(const profile::Profile& profile);

// Whether hooks or blocks counted any call.
bool has_counted_calls(const profile::Profile& profile);

}  // namespace fbleprof::analysis
