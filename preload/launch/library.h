// Where libfbleprof.so is, and how it gets into LD_PRELOAD.
#pragma once

#include <string>

namespace fbleprof::launch {

// The recorder's path, relative to that of fble-prof itself: as installed, or as built. "" = it is
// in neither place.
std::string find_library();

// The library that wraps the allocator, beside `library`. "" = it is not there.
std::string find_allocation_library(const std::string& library);

// LD_PRELOAD with `library` first and the others kept, each once. `current` may be null.
std::string with_preloaded(const std::string& library, const char* current);

}  // namespace fbleprof::launch
