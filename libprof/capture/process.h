// The life of a profile: it starts with the process (or the fork that made it), and ends with exit,
// exec or whatever kills it.
#pragma once

#include "capture/options.h"
#include "capture/threads.h"
#include "format/format.h"

namespace fbleprof::capture {

// Starts the profile of this process. Before main; once.
void start_process(char** environment);
bool is_profiling();

// Ends it: what is left is charged, the file gets its final state and size. Hooks may still run and
// are counted. Async-signal-safe. A vfork child, which runs in its parent's memory, does nothing.
void finish_process(format::State state, std::uint32_t code);

// In a forked child, before it returns from fork.
void after_fork_in_child();

// Before the program forbids itself system calls (seccomp): nothing of ours makes one afterwards.
void before_confinement();
// Before the program forbids a thread of it to read the time-stamp counter.
void before_counter_is_forbidden();

// Around exec. If exec returns, it failed and the profile goes on.
class Exec {
 public:
  Exec();
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

 private:
  bool is_own_;       // not a vfork child in this process's memory
  bool is_profiled_;  // a forked child may be without a profile
};

// Where a thread started by pthread_create finds its bounds: the stack below the start wrapper.
StackBounds bounds_of_new_thread(std::uint64_t stack_bytes);

// The memory of the profile is gone: nothing is recorded any more. From any handler.
void abandon_profile();

// A remark for the report; on stderr too if that is a terminal or FBLEPROF_VERBOSE=1. One line.
void remark(const char* text);

}  // namespace fbleprof::capture
