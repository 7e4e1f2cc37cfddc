// What a node of the tree is to other tools: a function by some name, a group, or a place inside
// the function above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::report {

// By function, for those that stand in the tree: what people call it, escaped (see escape.h).
// Functions that don't stand in it have no name here.
std::vector<std::string> function_names(const profile::Profile& profile);

// The same for formats that tell a function by its name alone: those of one name are told apart by
// their module, file or address, as "helper [libfoo.so]".
std::vector<std::string> distinct_names(const profile::Profile& profile);

// Whether a sampled address lies in the function that its context is of already: then it says
// where in that function time went, and is no call.
bool is_place_in_parent(const profile::Profile& profile, profile::NodeId node);

// By node: 1 where samples alone saw the context, so that its calls were not counted. A place
// inside a function is what that function is. Empty: the profile has no counted calls at all.
std::vector<std::uint8_t> not_counted(const profile::Profile& profile);

// The group that a node stands for; null: it is a function of the program.
const profile::Group* group_of(const profile::Profile& profile, profile::NodeId node);

// The nearest function above `node`, or `node` itself, that was not inlined into its caller.
profile::NodeId physical_frame(const profile::Profile& profile, profile::NodeId node);

}  // namespace fbleprof::report
