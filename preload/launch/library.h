// Where libfbleprof.so is, and how it gets into LD_PRELOAD.
#pragma once

#include <filesystem>
#include <string>

namespace fbleprof::launch {

// The folder of this program, and of the others that are installed with it. Empty without /proc.
std::filesystem::path folder_of_tools();

// The recorder's path, relative to fble-prof itself: as installed, or as built. "" if the recorder
// is in neither place.
std::string find_library();

// The path of another library of ours, by file name, beside `library`. "" if it is not there.
std::string find_beside(const std::string& library, const std::string& name);

// LD_PRELOAD with `library` first and the others kept, each once. `current` may be null.
std::string with_preloaded(const std::string& library, const char* current);

}  // namespace fbleprof::launch
