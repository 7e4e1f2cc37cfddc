// Turns a file of code into a plan for counting its calls.
#pragma once

#include <string>

namespace fbleprof::rewrite {

struct Analysis {
  std::string plan;   // its bytes; it may count nothing. Empty if the file could not be read
  std::string error;  // why it counts nothing; empty if it counts something
};

// Reads the whole file, at about three megabytes of code a second. Calls `progress` with shares
// from 0 to 1; `progress` may be null. Throws std::bad_alloc.
Analysis analyse(const std::string& path, void (*progress)(double) = nullptr);

}  // namespace fbleprof::rewrite
