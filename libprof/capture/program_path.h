// The program's file: the one that the kernel executed or, if that is the loader, the one that the
// loader runs.
#pragma once

namespace fbleprof::capture {

// An absolute path; "" if unknown.
const char* program_path();

}  // namespace fbleprof::capture
