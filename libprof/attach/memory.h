// The memory of another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace fbleprof::attach {

// Copy all of the bytes. False: errno says why not.
bool read_memory(pid_t pid, std::uint64_t from, void* to, std::size_t bytes);
bool write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t bytes);

}  // namespace fbleprof::attach
