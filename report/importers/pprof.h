// pprof's profile.proto, decompressed: of Go, gperftools, and whatever else writes it.
//
// Every sample type is a metric; the default one comes first. Times are brought to nanoseconds.
// A sample type "calls" that counts becomes calls of the edges that lead to its stacks.
// Labels tell sets of samples apart: each set is a thread of its own here, with these labels. Sizes
// in bytes are no labels but measurements (heap profiles have one a block size): left out.
// Names, files and lines are those of the profile. Where it has none, the place in its mapping
// stands for one: what a mapping's offsets mean, only the file could tell.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::importers {

Result<profile::Profile> parse_pprof(std::string_view bytes, const std::string& name);

}  // namespace fbleprof::importers
