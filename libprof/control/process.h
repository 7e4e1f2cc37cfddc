// A running process, as /proc shows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fbleprof::control {

// The start time, in clock ticks since boot; 0 if there is no such process. Together with the pid
// it identifies a process for good.
std::uint64_t start_ticks(pid_t pid);

// What the kernel told its program at the start, with random addresses: other bytes after each
// exec. "" if that is not shown, and in the middle of an exec.
std::string image_of(pid_t pid);

// Its threads.
std::vector<pid_t> threads_of(pid_t pid);

// Whether it has a handler for the signal.
bool handles(pid_t pid, int signal);

// The pid that it has in its own pid namespace; 0 if there is no such process.
pid_t inner_pid(pid_t pid);

// The process that has the pid `inner` in its own pid namespace and started then; 0 if none is
// visible from here.
pid_t find_process(pid_t inner, std::uint64_t start_ticks);

// A line of /proc/PID/status: the value after "name:"; empty if there is none.
std::string status_field(pid_t pid, const std::string& name);

}  // namespace fbleprof::control
