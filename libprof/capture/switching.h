// Turns recording on and off, and with it the hook sites of the program (arch/hook_site.h): while
// recording is off, functions call no hook at all.
//
// A switch changes one byte of each site and makes all cores see it (membarrier). Threads run on
// meanwhile. What it costs: two system calls for each module with sites, and some 10 ns a site; the
// first one copies the pages of code that it writes to.
#pragma once

#include "capture/signals.h"

namespace fbleprof::capture {

// As long as it lives, no other thread changes code. All signals are blocked.
class CodeLock {
 public:
  CodeLock();
  ~CodeLock();
  CodeLock(const CodeLock&) = delete;
  CodeLock& operator=(const CodeLock&) = delete;

 private:
  AllSignalsBlocked guard_;
};

// Makes the patchable functions of the new modules (modules.h) call their hook, if recording is on.
// If it is off, also switches off the hooks that the compiler made them call. Call with the lock,
// before any thread can be in these modules.
void make_sites_of_new_modules();

// Any thread, several at a time; not in a signal handler.
void start_recording();
void stop_recording();

// In a forked child with its own file: another thread may have been switching.
void recover_sites();

}  // namespace fbleprof::capture
