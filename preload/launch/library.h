// Where libfbleprof.so is, and how it gets into LD_PRELOAD.
#pragma once

#include <string>

namespace fbleprof::launch {

// The recorder's path, relative to that of fble-prof itself: as installed, or as built. "" = it is
// in neither place.
std::string find_library();

// LD_PRELOAD with `library` first and the others kept, each once. `current` may be null.
std::string with_preloaded(const std::string& library, const char* current);

}  // namespace fbleprof::launch
