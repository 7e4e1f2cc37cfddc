// pprof's profile.proto, decompressed: from Go, gperftools and other tools.
//
// Every sample type is a metric; the default one comes first. Times are converted to nanoseconds. A
// sample type "calls" that counts becomes calls of the edges that lead to its stacks. Labels tell
// sets of samples apart: each set becomes a thread with these labels. Sizes in bytes are not labels
// but measurements (heap profiles have one per block size), and are left out. Names, files and
// lines are those of the profile. A location without a name is named after its place in its
// mapping: only the file could tell more.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace fbleprof::importers {

Result<profile::Profile> parse_pprof(std::string_view bytes, const std::string& name);

}  // namespace fbleprof::importers
