// The profile that this process writes: its settings, its file and its state.
#pragma once

#include <cstdint>

#include "capture/options.h"
#include "capture/output_file.h"

namespace fbleprof::capture {

// Plain data, constant-initialised: our constructor runs before this file's initialisers, which
// would otherwise undo its work.
struct Profile {
  Settings settings;
  OutputFile output;
  // In a forked child: the parent's file, while the child reads it; else null.
  const signal_safe::Arena* parents_file = nullptr;
  std::uint32_t pid = 0;      // of the profiled process
  bool perf_allowed = true;   // perf_event_open may be tried
  bool finished = false;      // its end is written; hooks may still count
  bool is_in_exec = false;    // a thread calls exec; if that fails, the profile goes on
  bool confined = false;      // the program has confined itself: no more system calls
  bool tells_a_loss = false;  // a note says what could not be recorded
  bool began_late = false;    // recording was off at first, or for a time, or a parent made this
};
extern Profile profile;

// True from open_profile to the end of the profile.
bool is_profiling();

// Whether threads that start now belong to the profile. Also true while another thread calls exec.
bool takes_threads();

// Whether the caller is the profiled process itself, not a vfork child that shares its memory. In a
// confined program, which may have forbidden to ask, a vfork child is taken for its parent.
bool is_own_process();

// Opens the file and makes an empty profile in it. False, after printing the reason, if that fails.
// In a process forked from a profiled one, `parent` is the parent's file; otherwise null.
// `start_ns`: the monotonic clock when the recording of this process began.
bool open_profile(const OutputFile* parent, std::uint64_t start_ns);

// The memory of the profile is lost: stops recording. Any handler may call this.
void abandon_profile();
// The same if the file of an attached program was truncated. Where nothing answers SIGBUS, call
// this before touching the file: after a detach, and in a thread that makes a call for fble-prof.
void abandon_truncated_profile();

// Prints one line to stderr, if that is a terminal or FBLEPROF_VERBOSE=1. In a program that ran
// before, only the latter counts.
void say(const char* line);
// The same, and adds a remark for the report.
void remark(const char* line);

}  // namespace fbleprof::capture
