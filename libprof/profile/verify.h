// Checks every invariant of a profile file, for --verify and the tests.
#pragma once

#include <string>
#include <vector>

#include "profile/reader.h"

namespace fbleprof::profile {

// One invariant: its statement, whether it holds, and the figures.
struct Check {
  std::string what;
  bool ok = false;
  std::string detail;
};

// All invariants, always in the same order, for a profile just read from `image`. A running program
// may be read in the middle of a charge: sums may then differ by a little.
std::vector<Check> verify(const FileImage& image, const ReadResult& read);

}  // namespace fbleprof::profile
