// Which modules are rewritten: the value of --exact.
#pragma once

#include "format/format.h"

namespace fbleprof::capture {

// Where the default of --exact is meant, FBLEPROF_EXACT has this.
inline constexpr const char* kProgramAndLibraries = "on";

struct ModuleChoice {
  // "on": the program and its libraries, without those that work below them or are written by hand
  // (libm, OpenSSL, gmp). "all": these too. Otherwise a list of file names, or beginnings of them
  // up to a point ("libsqlite3"), separated by commas; "program" is the program itself.
  const char* modules;
  // Such a list: what "on" does not mean, because an adapter counts what the module interprets.
  const char* except;
};

// Whether the code of the module at `path` may be changed at all: not that of libc, the loader, the
// recorder and its adapters.
bool may_be_changed(const format::Module& module, const char* path);

// Whether the module at `path` is chosen. It may be changed then.
bool is_chosen(const ModuleChoice& choice, const format::Module& module, const char* path);

}  // namespace fbleprof::capture
