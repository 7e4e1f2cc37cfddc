// Switches the hook sites of the program (arch/hook_site.h): while recording is off, functions call
// no hook at all.
//
// A switch changes one byte of each site and makes all cores see it (membarrier). Threads run on
// meanwhile. What it costs: two system calls for each module with sites, and some 10 ns a site; the
// first one copies the pages of code that it writes to.
//
// It must not write to a module that another thread unloads. The loader's lock would hold that
// thread off, but a handler may not wait for it. So dlclose announces itself, and sites that cannot
// be switched meanwhile are switched when it is done.
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

// All sites follow the recording, which was turned on or off before. Any thread, several at a time;
// handlers too.
void switch_sites();

// How far the copy of the hook that holds `pc` is from the original; 0: `pc` is in no copy.
std::uint64_t shift_of_hook(std::uint64_t pc);

// Around dlclose.
void before_unloading();
void after_unloading();

// In a forked child with its own file, once it records or does not: another thread may have been
// switching.
void recover_sites();

}  // namespace fbleprof::capture
