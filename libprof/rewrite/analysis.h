// Turns a file of code into a plan for counting its calls.
#pragma once

#include <string>

namespace fbleprof::rewrite {

struct Analysis {
  std::string plan;   // its bytes; there is always a plan, which may count nothing
  std::string error;  // why it counts nothing; empty if it counts something
};

// Reads the whole file, at about three megabytes of code a second. Calls `progress` with shares
// from 0 to 1; `progress` may be null.
Analysis analyse(const std::string& path, void (*progress)(double) = nullptr);

}  // namespace fbleprof::rewrite
