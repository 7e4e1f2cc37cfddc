// Loads the recorder into a running program, or makes one that was loaded obey.
//
// One thread of the program is stopped for some milliseconds, where it holds no lock of the
// allocator or the loader: it waits in a system call, or is about to make one. It is made to call
// dlopen, on a stack of its own, and then goes on where it was. The other threads are not stopped:
// the recorder finds them (capture/found_threads.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace fbleprof::attach {

// Whether the recorder is in that process already; if so, the file that it writes, as that process
// names it ("" if that cannot be read). `library` is the recorder's file here, in all functions.
struct Recorder {
  bool is_loaded = false;
  std::string profile;
};
Result<Recorder> find_recorder(pid_t pid, const std::string& library);

// Loads `library` with these settings (FBLEPROF_...=VALUE). The failure says what to do.
Status load_recorder(pid_t pid, const std::string& library,
                     const std::vector<std::string>& settings);

// Makes the recorder in the process look at what was asked of it.
Status make_recorder_obey(pid_t pid, const std::string& library);

// Whether the process has a view of files of its own, as in a container.
bool has_own_files(pid_t pid);

}  // namespace fbleprof::attach
