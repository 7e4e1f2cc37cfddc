// Switches the program's hook sites (arch/hook_site.h): while recording is off, functions call no
// hook at all.
//
// A switch changes one byte of each site and makes all cores see it (membarrier). Threads run
// meanwhile. A switch costs two system calls for each module with sites, and about 10 ns for each
// site; the first switch also copies the pages of code that it writes to.
//
// A switch must not write to a module that another thread unloads. The loader's lock would stop
// that thread, but a handler may not wait for the lock. So dlclose announces itself, and sites that
// cannot be switched meanwhile are switched when it returns.
#pragma once

#include "capture/signals.h"

namespace fbleprof::capture {

// While it lives, no other thread changes code. All signals are blocked.
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
// If it is off, also switches off the hooks that the compiler made functions call. Call it with the
// lock, before any thread can run in these modules.
void make_sites_of_new_modules();

// Makes all sites match the recording state, which the caller has already changed. Any thread,
// several at a time; handlers too.
void switch_sites();

// Around dlclose.
void before_unloading();
void after_unloading();

// In a forked child with its own file, when it starts or stops recording: another thread may have
// been switching at the fork.
void recover_sites();

}  // namespace fbleprof::capture
