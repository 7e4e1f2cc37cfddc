// From a file of code to the plan of how to count its calls.
#pragma once

#include <string>

namespace fbleprof::rewrite {

struct Analysis {
  std::string plan;   // its bytes: always a plan, which may count nothing
  std::string error;  // why it counts nothing; empty: it counts something
};

// Reads the whole file, at about three megabytes of code a second. `progress` hears of shares from
// 0 to 1; it may be null.
Analysis analyse(const std::string& path, void (*progress)(double) = nullptr);

}  // namespace fbleprof::rewrite
