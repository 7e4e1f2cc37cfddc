// Facts that the kernel tells about processes.
#pragma once

#include <cstdint>

namespace fbleprof::capture {

std::uint32_t own_pid();

// The start of a process in clock ticks since boot, from /proc; 0 if there is no such process.
std::uint64_t process_start_ticks(std::uint32_t pid);

// Whether a thread of this process neither blocks a signal below 32 nor waits for it (sigwait).
// Async-signal-safe.
bool accepts_signal(std::uint32_t tid, int number);

// Inode of this process's pid namespace; 0 = unknown.
std::uint64_t pid_namespace();

// What tells a process apart from others that had its number.
struct ProcessIdentity {
  std::uint32_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t pid_namespace = 0;
};
ProcessIdentity own_identity();

// /proc/self/status.
struct ProcessStatus {
  bool is_confined = false;           // by a filter of system calls (seccomp)
  bool has_locked_memory = false;     // mlock, mlockall
  std::uint64_t default_signals = 0;  // bit n - 1: signal n has its default action. 0: not known
};
ProcessStatus process_status();

}  // namespace fbleprof::capture
