// The program to run: where it is, and whether it can be profiled.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace fbleprof::launch {

struct Program {
  std::string path;  // "" = not found
  int error = 0;     // errno: why it cannot be run; 0 = try to run it
};

// Finds `name` as a shell would: as a path if it contains a slash, otherwise along `search_path`
// (the value of PATH; null = the system's default).
Program find_program(const std::string& name, const char* search_path);

enum class Obstacle {
  kNone,
  kStatic,      // no dynamic linker, so nothing is preloaded
  kSetuid,      // runs with more rights than ours, so the dynamic linker ignores LD_PRELOAD
  kForeignElf,  // another word size or processor: the recorder cannot be loaded
  kMusl,        // musl's dynamic linker ends the program if it cannot load the recorder
};

// Why the recorder could not work in the program at `path`. For a script, checks its interpreter. A
// file that cannot be read is not an obstacle.
Obstacle obstacle_of(const std::string& path);

// Whether the program is linked with the shared run-time library of AddressSanitizer, which must be
// the first library.
bool has_shared_asan(const std::string& path);

// The program that finally runs: for a script, the one that its first line names, also through env.
// `search_path` as above.
std::string program_of(const std::string& path, const char* search_path);

// Whether the program defines or uses a dynamic symbol of this name. False if it cannot be read.
// Reads only the table of such names: large programs hold tens of megabytes besides.
bool names_symbol(const std::string& path, std::string_view symbol);

// Whether the file contains one of the texts. False if it cannot be read.
bool holds_text(const std::string& path, std::initializer_list<std::string_view> texts);

// The allocator that is linked into the program itself ("jemalloc"), by texts that it contains,
// even in stripped programs. "" = none that we know.
std::string linked_allocator(const std::string& path);

// Why no profile of `program` can be made at `path`, the value of --out, or why it may be lost, and
// what comes of that: one clear line; "" if one can, or if only the recorder can expand the name
// (%p).
std::string obstacle_of_output(const std::string& path, const std::string& program);

// One clear line, without an end of line.
std::string explain(Obstacle obstacle, const std::string& program);

}  // namespace fbleprof::launch
