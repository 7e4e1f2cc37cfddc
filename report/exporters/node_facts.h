// What a node of the tree means to other tools: a function by some name, a group, or a place inside
// the function above it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace fbleprof::report {

// By function, for those in the tree: the display name, escaped (see escape.h). Functions that are
// not in the tree have no name here.
std::vector<std::string> function_names(const profile::Profile& profile);

// The same for formats that identify a function by its name alone: module, file or address tell
// namesakes apart, as in "helper [libfoo.so]".
std::vector<std::string> distinct_names(const profile::Profile& profile);

// Whether a sampled address lies in the function of its own context: then it says where in that
// function time was spent, and is not a call.
bool is_place_in_parent(const profile::Profile& profile, profile::NodeId node);

// By node: 1 if only samples saw the context, so that its calls were not counted. A place inside a
// function inherits from the function. Empty: the profile has no counted calls at all.
std::vector<std::uint8_t> not_counted(const profile::Profile& profile);

// The group of a node; null: it is a function of the program.
const profile::Group* group_of(const profile::Profile& profile, profile::NodeId node);

// The nearest function above `node`, or `node` itself, that was not inlined into its caller.
profile::NodeId physical_frame(const profile::Profile& profile, profile::NodeId node);

}  // namespace fbleprof::report
