// What to do about a profile that does not exist.
#pragma once

namespace fbleprof::profile {

constexpr const char* kAdviceIfMissing =
    "run the program first: fble-prof ./prog; if --out or attach named another file, name that";

}  // namespace fbleprof::profile
