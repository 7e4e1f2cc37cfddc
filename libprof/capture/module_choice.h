// Decides which modules are rewritten: the value of --exact.
#pragma once

#include "format/format.h"

namespace fbleprof::capture {

// The value of FBLEPROF_EXACT for the default of --exact.
inline constexpr const char* kProgramAndLibraries = "on";
inline constexpr const char* kAllModules = "all";

// Calls function(word, end) for each word of a comma-separated list.
template <typename Function>
void for_each_word(const char* words, Function function) {
  while (*words) {
    const char* end = words;
    while (*end && *end != ',') ++end;
    if (end != words) function(words, end);
    words = *end ? end + 1 : end;
  }
}

struct ModuleChoice {
  // "on": the program and its libraries, except low-level and hand-written ones (libm, OpenSSL,
  // gmp). "all": these too. Otherwise a comma-separated list of file names, or of beginnings of
  // names up to a point ("libsqlite3"); "program" is the program itself.
  const char* modules;
  // Such a list: modules that "on" leaves out, because an adapter counts the scripts that they run.
  const char* except;
};

// Whether the code of the module at `path` may be changed at all: not that of libc, the loader, the
// recorder and its adapters.
bool may_be_changed(const format::Module& module, const char* path);

// Whether the word up to `end`, of a list of names, names the module at `path`.
bool is_named_by(const char* word, const char* end, const format::Module& module, const char* path);

// Whether the module at `path` is chosen. It may then be changed.
bool is_chosen(const ModuleChoice& choice, const format::Module& module, const char* path);

}  // namespace fbleprof::capture
