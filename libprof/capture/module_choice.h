// Which modules are rewritten: the value of --exact.
#pragma once

#include "format/format.h"

namespace fbleprof::capture {

// Where the default of --exact is meant, FBLEPROF_EXACT has this.
inline constexpr const char* kProgramAndLibraries = "on";

// Whether `choice` names the module at `path`. "on": the program and its libraries, without those
// that are written by hand or that work below the program (libc, the loader, OpenSSL, gmp). "all":
// all but the recorder, the loader and the kernel's. Otherwise a list of file names, or beginnings
// of them up to a point ("libsqlite3"), separated by commas; "program" is the program itself.
bool is_chosen(const char* choice, const format::Module& module, const char* path);

}  // namespace fbleprof::capture
