// The environment that exec and posix_spawn hand to the next program.
//
// In another root (chroot, a container), or with fewer rights, the next program may be unable to
// read the libraries that LD_PRELOAD names, and the dynamic linker complains on the stderr of each
// such program. That of a 32-bit program does the same, and musl's ends the program. So our
// libraries are taken out of its LD_PRELOAD: it is not recorded, and the user is told once.
//
// A program with gcc's shared AddressSanitizer gets an option that lets it start behind our
// libraries. The two work together: a call that both intercept goes through both.
#pragma once

#include <cstddef>

#include "capture/next_program.h"

namespace fbleprof::capture {

// Works in vfork children too: changes no memory of the program's, and takes none.
class NextEnvironment {
 public:
  // `environment` may be null.
  NextEnvironment(const NextProgram& program, char* const* environment);

  // What write() needs; 0: the environment can be handed on as it is.
  std::size_t bytes() const { return bytes_; }
  // A copy of the environment in `memory`, aligned as a pointer.
  char* const* write(void* memory) const;

 private:
  bool is_taken_out(const char* begin, const char* end) const;
  char* write_preload(char* to) const;
  char* write_asan_options(char* to) const;

  char* const* environment_;
  std::size_t count_ = 0;               // of variables
  const char* preload_ = nullptr;       // the value of LD_PRELOAD
  const char* asan_options_ = nullptr;  // the value of ASAN_OPTIONS, if there is one
  std::size_t bytes_ = 0;
  bool has_lost_ = false;  // libraries of ours that the next program cannot read
  ForPreloading next_;     // unless it has
};

}  // namespace fbleprof::capture
