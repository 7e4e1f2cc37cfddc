// The part of `fble-prof attach` that changes the code of the process.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <string>

namespace fbleprof::launch {

// Exit statuses of attach and detach.
inline constexpr int kRefused = 1, kWrongUse = 2;

// The signals that end this program, and that wait while it traces a process.
sigset_t ending_signals();

// Checks what --exact names before the process is touched. Returns the exit status.
int check_counting(const std::string& modules);

// Makes the process, which has the recorder, count the calls of the modules that --exact names: in
// two steps, of which only the second one changes code. Return the exit status.
int prepare_counting(pid_t pid, const std::string& library, const std::string& modules);
int start_counting(pid_t pid, const std::string& library);
// Gives the process its own code back, if that is changed.
int stop_counting(pid_t pid, const std::string& library);

// Waits for the time to pass, or for one of the ending signals, which are blocked.
enum class Waited { kToTheEnd, kUntilSignal, kUntilProcessEnded };
Waited wait_for_end(pid_t pid, std::chrono::milliseconds time);

}  // namespace fbleprof::launch
