// The code of the functions that the program calls in place of libc's, and that call these.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

// Adds the functions that this library interposes. They stand together in a section.
void add_interposed();

// Adds a library of wrappers: that with this address.
void add_wrappers(std::uint64_t address);

}  // namespace fbleprof::capture
