// Whether a stopped thread holds a lock of libc, the loader or an allocator: whether one of their
// functions is on its stack.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/loaded_file.h"
#include "attach/tracee.h"

namespace fbleprof::attach {

enum class StoppedIn {
  kCode,       // it computes
  kQuietCall,  // in a system call that takes no lock, or behind one (arch::is_quiet)
};

// The files of a process with locks that a call of dlopen needs: libc, the loader, allocators, and
// the recorder. It is made while no thread is stopped, which would wait.
class SafePlaces {
 public:
  // `mappings` must outlive this.
  SafePlaces(pid_t pid, const std::vector<Mapping>& mappings);

  // Walks the thread's stack by the unwind tables. A quiet call may be made by functions of libc
  // that the program's code calls; elsewhere on the stack, and in the loader or an allocator, they
  // may hold a lock. So may those that wait for one, but for mutexes, and those that change the
  // user, which wait for all threads. Where the walk cannot follow (generated code), each word of
  // the stack of a thread that computes counts as a return address, and a quiet call is trusted.
  bool holds_no_lock(const Tracee& thread, StoppedIn where) const;

  // Whether a call of dlopen in the thread waits for the loader's lock, and has taken none yet.
  // `at` are the thread's registers now.
  bool waits_for_loader(const Tracee& thread, const arch::TracedRegisters& at) const;

 private:
  bool is_known(const std::string& path) const;
  bool is_in(std::uint64_t address, const std::vector<std::string>& files) const;
  bool may_hold_lock(std::uint64_t address) const { return is_in(address, files_); }
  bool is_libc(std::uint64_t address) const { return is_in(address, libc_); }
  bool is_loader(std::uint64_t address) const { return is_in(address, loader_); }
  bool is_in_change_of_user(std::uint64_t address) const;
  // A program that defines malloc itself: its other functions cannot be told from its allocator's.
  bool is_program_with_allocator(std::uint64_t address) const {
    return !own_allocator_.empty() && is_in(address, {own_allocator_});
  }
  std::vector<std::uint64_t> without_start(std::vector<std::uint64_t> frames) const;
  bool starts_program(std::uint64_t address) const;
  bool seems_outside(const Tracee& thread) const;

  pid_t pid_;
  const std::vector<Mapping>& mappings_;
  std::vector<std::string> files_, libc_, loader_;
  std::string own_allocator_;
  std::uint64_t start_ = 0;                     // libc's function that starts a program
  std::vector<std::uint64_t> changes_of_user_;  // libc's functions
};

}  // namespace fbleprof::attach
