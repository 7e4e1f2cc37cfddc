// Which modules are rewritten: the value of --exact.
#pragma once

#include "format/format.h"

namespace fbleprof::capture {

// Where the default of --exact is meant, FBLEPROF_EXACT has this.
inline constexpr const char* kProgramAndLibraries = "on";

// Whether `choice` names the module at `path`. "on": the program and its libraries, without those
// that work below them or are written by hand (libm, OpenSSL, gmp). "all": these too. Otherwise a
// list of file names, or beginnings of them up to a point ("libsqlite3"), separated by commas;
// "program" is the program itself. Never libc, the loader and the recorder.
bool is_chosen(const char* choice, const format::Module& module, const char* path);

}  // namespace fbleprof::capture
