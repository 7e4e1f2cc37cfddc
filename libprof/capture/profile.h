// The profile that this process writes: its settings, its file, and how far it has come.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_file.h"

namespace fbleprof::capture {

// Plain data, constant-initialised: our constructor runs before the file's own initialisers, which
// would undo what it did.
struct Profile {
  Settings settings;
  OutputFile output;
  std::uint32_t pid = 0;     // of the process that it is of
  bool perf_allowed = true;  // perf_event_open may be tried
  bool finished = false;     // its end is written; hooks may still count
  bool confined = false;     // the program is: no system calls any more
};
extern Profile profile;

// True from the opening of the profile to its end.
bool is_profiling();

// Whether the caller is the process that the profile is of, not a vfork child in its memory.
bool is_own_process();

// Opens the file and makes an empty profile in it. False: there is none, and the reason was said.
// In a process forked from a profiled one `parent` is the parent's file, else null.
bool open_profile(const OutputFile* parent);

// The memory of the profile is gone: nothing is recorded any more. From any handler.
void abandon_profile();

// One line on stderr, if that is a terminal or FBLEPROF_VERBOSE=1.
void say(const char* line);
// The same, and a remark for the report.
void remark(const char* line);

}  // namespace fbleprof::capture
