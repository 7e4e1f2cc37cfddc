// The file of the program: what the kernel executes, or what the loader does if that is it.
#pragma once

namespace fbleprof::capture {

// Absolute; "" if nobody tells.
const char* program_path();

}  // namespace fbleprof::capture
