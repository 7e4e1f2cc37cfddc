// Loads the recorder into a running program, or makes a recorder that is already there obey.
//
// It stops one thread of the program for some milliseconds, where the thread holds no lock of the
// allocator or the loader: it waits in a system call, or has just made one. The thread then
// calls dlopen, on a separate stack, and afterwards continues where it was. The other threads are
// not stopped: the recorder finds them (capture/found_threads.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fbleprof::attach {

// Whether the recorder is in that process already; if so, the file that it writes, as that process
// names it ("" if that cannot be read). In all functions `library` is the recorder's file here.
struct Recorder {
  bool is_loaded = false;
  std::string profile;
};
Result<Recorder> find_recorder(pid_t pid, const std::string& library);

// Loads `library` with these settings (FBLEPROF_...=VALUE), or makes it begin if it was loaded
// before and writes no file. The error says what to do.
Status load_recorder(pid_t pid, const std::string& library,
                     const std::vector<std::string>& settings);

// Makes the recorder in the process look for requests.
Status make_recorder_obey(pid_t pid, const std::string& library);

// Whether the process sees other files than we do, as in a container.
bool has_own_files(pid_t pid);

}  // namespace fbleprof::attach
