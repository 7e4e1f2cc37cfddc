// Facts that the kernel tells about processes.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

std::uint32_t own_pid();

// The start of a process in clock ticks since boot, from /proc; 0 if there is no such process.
std::uint64_t process_start_ticks(std::uint32_t pid);

// Inode of this process's pid namespace; 0 = unknown.
std::uint64_t pid_namespace();

}  // namespace fbleprof::capture
