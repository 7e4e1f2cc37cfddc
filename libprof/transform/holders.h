// The waits for a lock, by who held it.
//
// The recorder puts a wait for a lock below the call that waits, in contexts that stand for the
// functions that held the lock (format::kFunctionHolder): the innermost one first, then its
// callers.
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// How the name of such a context begins; the function's name and "]" follow.
inline constexpr std::string_view kHeldBy = "[held by ";

// The name of the function that held the lock; empty if the name is not that of such a context.
std::string_view holder_in(std::string_view name);

// A profile in which these contexts have names of their own, so that they are not taken for the
// functions. The functions must have their names already (symbolize).
profile::Profile with_holders_named(const profile::Profile& profile);

}  // namespace fbleprof::transform
