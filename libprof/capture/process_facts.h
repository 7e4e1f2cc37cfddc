// What the kernel says of processes.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

std::uint32_t own_pid();

// What /proc says of a process: its start in clock ticks since boot; 0 if there is none.
std::uint64_t process_start_ticks(std::uint32_t pid);

// Inode of this process's pid namespace; 0 = unknown.
std::uint64_t pid_namespace();

}  // namespace fbleprof::capture
