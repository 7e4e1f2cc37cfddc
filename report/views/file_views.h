// The views of one file as it is: its records, its invariants.
#pragma once

#include <cstdio>
#include <string>

#include "profile/reader.h"
#include "report/text/input.h"

namespace fbleprof::report {

// --raw: every record that can be reached, a line each, with its place. Written as it is found: a
// file may hold millions.
void raw_view(const profile::FileImage& image, std::FILE* out);

// --verify: every invariant, a line each. `all_hold` tells whether all of them do.
std::string verify_view(const profile::FileImage& image, const profile::ReadResult& read,
                        const Look& look, bool& all_hold);

}  // namespace fbleprof::report
