// Switches the program's hook sites (arch/hook_site.h), and the same instructions in trampolines of
// rewritten functions: while recording is off, functions call no hook at all.
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
  enum class Wanted { kAlways, kIfFree };

  explicit CodeLock(Wanted wanted = Wanted::kAlways);
  ~CodeLock();
  CodeLock(const CodeLock&) = delete;
  CodeLock& operator=(const CodeLock&) = delete;
  // False: another thread changes code, and the lock was wanted only if it is free.
  explicit operator bool() const { return held_; }

 private:
  AllSignalsBlocked guard_;
  bool held_;
};

// Makes the patchable functions of the new modules (modules.h) call their hook, if recording is on.
// If it is off, also switches off the hooks that the compiler made functions call. Call it with the
// lock, before any thread can run in these modules.
void make_sites_of_new_modules();

// Makes all sites match the recording state, which the caller has already changed. Any thread,
// several at a time; handlers too.
void switch_sites();

// Switches off one site for good; false if there is no such site, or it cannot be written to now.
// Call it with the lock, and synchronize_cores() afterwards.
bool take_back_site(std::uint64_t hook_return);
// Calls function(hook_return) for the sites of loaded modules that were taken back.
void for_each_site_taken_back(void (*function)(std::uint64_t hook_return));

// Makes all cores see changes of code.
void synchronize_cores();

// Around dlclose.
void before_unloading();
void after_unloading();

// In a forked child with its own file, when it starts or stops recording: another thread may have
// been switching at the fork.
void recover_sites();
// In any forked child, before: no other thread of it holds the lock.
void forget_switches_under_way();

}  // namespace fbleprof::capture
