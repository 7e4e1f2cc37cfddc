// Identifies one function in a link, the same in every profile of the program.
//
// A link may outlive the run that it was made for, so an id is a hash of what does not change from
// run to run: the module's base name and the function's linkage name (or its display name if it has
// no other). Namesakes of one module are told apart by their units, which the symbol table tells
// (profile/namesakes.h), those of scripts and blocks by their files. Where nothing tells, addresses
// and lines do, in their order among those that the profile holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::transform {

// The form in patterns: "id:0123456789ab" (matcher.h).
inline constexpr std::string_view kIdPrefix = "id:";

// By function.
std::vector<std::uint64_t> stable_ids(const profile::Profile& profile);

// "id:0123456789ab".
std::string id_text(std::uint64_t id);

}  // namespace fbleprof::transform
