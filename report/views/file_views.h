// The views of one file as it is: its records, its invariants.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "profile/reader.h"
#include "profile/verify.h"
#include "report/text/input.h"

namespace fbleprof::report {

// --raw: every record, a line each, with its place. Written as it is found: a file may hold
// millions.
void raw_view(const profile::FileImage& image, std::FILE* out);

struct FileChecks {
  std::string file;
  std::vector<profile::Check> checks;
};

// --verify: every invariant of each file, a line or row each.
std::string verify_view(const std::vector<FileChecks>& files, const Look& look);

}  // namespace fbleprof::report
