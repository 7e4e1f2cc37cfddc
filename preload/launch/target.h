// The program that is to be run: where it is, and whether it can be profiled at all.
#pragma once

#include <string>

namespace fbleprof::launch {

struct Program {
  std::string path;  // "" = not found
  int error = 0;     // errno of why it cannot be run; 0 = it may be tried
};

// Finds `name` as a shell would: as a path if it holds a slash, else along `search_path` (the value
// of PATH; null = the system's default).
Program find_program(const std::string& name, const char* search_path);

enum class Obstacle {
  kNone,
  kStatic,      // no dynamic linker, so nothing is preloaded
  kSetuid,      // runs with more rights than ours: the dynamic linker ignores LD_PRELOAD
  kForeignElf,  // another word size or processor: the recorder cannot be loaded
};

// Why the recorder would not come to life in the program at `path`. Of a script, its interpreter is
// looked at. Files that cannot be read count as no obstacle.
Obstacle obstacle_of(const std::string& path);

// Whether the program is linked with the shared run-time library of AddressSanitizer, which wants
// to be the first library of all.
bool has_shared_asan(const std::string& path);

// Why no profile can be made at `path`, the value of --out: one clear line; "" if it can, or if the
// name holds places that only the recorder knows (%p).
std::string obstacle_of_output(const std::string& path);

// One clear line, without an end of line.
std::string explain(Obstacle obstacle, const std::string& program);

}  // namespace fbleprof::launch
