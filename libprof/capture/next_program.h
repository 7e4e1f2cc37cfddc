// The program that exec or posix_spawn starts.
#pragma once

namespace fbleprof::capture {

struct NextProgram {
  const char* name;                      // as the user named it
  const char* file;                      // null: not known
  enum class Search { kNone, kInPath };  // kInPath: a name without a slash is searched for
  Search search = Search::kNone;
};

// What the program's file says about preloaded libraries.
struct ForPreloading {
  // Why its dynamic linker cannot load ours: it is musl's, or that of another machine or class.
  // Null: it can, or nobody knows.
  const char* foreign_linker = nullptr;
  // Its first library is gcc's shared AddressSanitizer, which refuses to start behind another one
  // if its options do not allow that.
  bool begins_with_asan = false;
};

// Opens the file. Works in vfork children too: changes no memory of the program's, and takes none.
ForPreloading look_at(const NextProgram& program);

}  // namespace fbleprof::capture
