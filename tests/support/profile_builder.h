// Profiles in memory from a few lines of text, for tests of transforms, analyses and views.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace fbleprof::test {

// Reads one line a fact:
//     a b c = 5        the node of c, called by b, called by a, costs 5 ns CPU
//     a b -> 3         b was called 3 times by a there
//     a b ~> a : 2     a back edge from "a b" to "a", taken 2 times
//     a b => a c : 2   a tail edge
//     thread NAME      what follows belongs to another thread's tree
// Functions are blocks of these names.
profile::Profile profile_of(std::string_view text);

// The same lines for paths of a few functions below main, which are called a, b, c ..., with back
// edges among them: always the same for a seed. `longest`: of a path's text.
std::string random_paths(unsigned seed, int steps, std::size_t longest, unsigned functions);

// The whole forest in preorder, a line a node: "..c cpu=5 calls=3", dots for the depth, and a line
// an edge that is no tree edge: "a b ~> a : 2".
std::string text_of(const profile::Profile& profile);

// The function of that name; none if there is none.
profile::FunctionId function_called(const profile::Profile& profile, std::string_view name);

}  // namespace fbleprof::test
