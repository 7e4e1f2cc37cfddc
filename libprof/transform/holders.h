// Waits by who ended them: who held a lock, who woke the thread.
//
// The recorder puts a wait that another context ended below the call that waits, in contexts that
// stand for the functions of the other one: the innermost one first, then its callers. They held a
// lock (format::kFunctionHolder), or woke the thread (kFunctionWaker).
#pragma once

#include <string_view>

#include "profile/profile.h"

namespace fbleprof::transform {

// How the names of such contexts begin; the function's name and "]" follow.
inline constexpr std::string_view kHeldBy = "[held by ", kWokenBy = "[woken by ";

// The name of the function that held the lock, or that woke; empty if the name is not that of such
// a context.
std::string_view holder_in(std::string_view name);
std::string_view waker_in(std::string_view name);

// A profile in which these contexts have names of their own, so that they are not taken for the
// functions. The functions must have their names already (symbolize).
profile::Profile with_holders_named(const profile::Profile& profile);

}  // namespace fbleprof::transform
