// Every invariant of a profile file, for --verify and the tests.
#pragma once

#include <string>
#include <vector>

#include "profile/reader.h"

namespace fbleprof::profile {

// One invariant: what must be, whether it is, and the figures.
struct Check {
  std::string what;
  bool ok = false;
  std::string detail;
};

// All of them, always in the same order, for a profile just read from `image`. While a program runs
// its counters are caught in the middle of a charge: sums may then differ by a little.
std::vector<Check> verify(const FileImage& image, const ReadResult& read);

}  // namespace fbleprof::profile
