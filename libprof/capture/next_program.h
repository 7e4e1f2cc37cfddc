// The program that exec or posix_spawn starts.
#pragma once

namespace fbleprof::capture {

struct NextProgram {
  const char* name;                      // as the user named it
  const char* file;                      // null: not known
  enum class Search { kNone, kInPath };  // kInPath: a name without a slash is searched for
  Search search = Search::kNone;
};

// Why the program's dynamic linker cannot load our libraries: it is musl's, or that of another
// machine or class. Null: it can, or nobody knows. Opens the file. Works in vfork children too:
// changes no memory of the program's, and takes none.
const char* foreign_linker_of(const NextProgram& program);

}  // namespace fbleprof::capture
