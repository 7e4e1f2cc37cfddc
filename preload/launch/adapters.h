// The adapters: libraries that make the functions of scripts appear in the tree, each for programs
// of one runtime.
#pragma once

#include <string>
#include <vector>

namespace fbleprof::launch {

struct Adapters {
  std::vector<std::string> libraries;  // beside the recorder; to be preloaded behind it
  std::string counted_by_them;         // names of modules, joined by commas: not to be rewritten
  std::string error;                   // one line; not empty = an adapter is not installed
};

// The adapters for the program at `path`, or for the program that runs the script there. None if
// the adapter's variable (FBLEPROF_LUA) is off, or if the program has its own hooks: an adapter's
// blocks would end with the runtime's function that called the adapter. `recorder` is
// libfbleprof.so's path.
Adapters adapters_for(const std::string& path, const char* search_path,
                      const std::string& recorder);

}  // namespace fbleprof::launch
