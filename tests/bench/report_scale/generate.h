// Makes profiles of any size, the same each time.
#pragma once

#include <cstddef>
#include <string>

namespace fbleprof::bench {

// Writes a valid mlmon.out of about `nodes` contexts below `threads` threads, of 20,000 functions
// with typical C++ names, with recursion and a hot path. One of `every` contexts has time. False:
// the file cannot be written.
bool generate(const std::string& path, std::size_t nodes, std::size_t threads,
              std::size_t every = 4);

}  // namespace fbleprof::bench
