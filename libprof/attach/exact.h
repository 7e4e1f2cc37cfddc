// fble-prof attach --exact: makes a running program count its calls, and stops that. Without
// --exact, only the places are changed where the recorder must be called (text_changes.h).
//
// The recorder in the program chooses the modules and writes the trampolines; see
// format/recorder_order.h. Then all threads are stopped for some milliseconds, and the starts of
// the functions become jumps to the trampolines. With the original bytes back, the trampolines
// stay: threads may still return through them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"

namespace fbleprof::attach {

struct ExactChoice {
  std::string modules;      // the value of --exact
  std::string plan_folder;  // where plans are kept
  std::string tool;         // the program that makes plans; the process may have to call it
  // Makes the plan of the file `module`, unless it is there; `stem` is its folder, and the build-id
  // that begins its name. Returns it; empty: it is not possible.
  std::function<std::string(const std::string& stem, const std::string& module)> plan_of;
};

// Why no process can be told of this choice; empty: each can.
std::string fault_of(const ExactChoice& choice);

struct ExactChange {
  std::size_t places = 0;    // of the text, where calls are counted
  std::size_t kept_out = 0;  // entries that a thread occupied
  std::chrono::microseconds stopped{};
};

// Makes the program call its recorder at some system calls (exec, sigaction, clone) and, if its
// filter needs it, when it loads libraries. count_calls does it, too.
Status watch_program(pid_t pid, const std::string& library);
// Before stop_counting_calls, which ends this, and when recording is off: gives the program its own
// action for the sampling signal.
Status unwatch_signals(pid_t pid, const std::string& library);

// Makes the recorder, which must be in the process, prepare what the choice needs.
Status prepare_to_count_calls(pid_t pid, const std::string& library, const ExactChoice& choice);
// Changes the text as it was prepared last.
Result<ExactChange> count_calls(pid_t pid, const std::string& library);

// Gives the text its original bytes. Does nothing if it has them.
Result<ExactChange> stop_counting_calls(pid_t pid, const std::string& library);

}  // namespace fbleprof::attach
