// The environment that exec hands to the next program.
//
// In another root (chroot, a container), or with fewer rights, the next program may be unable to
// read the libraries that LD_PRELOAD names, and the dynamic linker complains on the stderr of each
// such program. That of a 32-bit program does the same, and musl's ends the program. So our
// libraries are taken out of its LD_PRELOAD: it is not recorded, and the user is told once.
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
  // A copy of the environment in `memory`, aligned as a pointer, whose LD_PRELOAD lacks the
  // libraries that the next program cannot load.
  char* const* write(void* memory) const;

 private:
  bool is_taken_out(const char* begin, const char* end) const;

  char* const* environment_;
  std::size_t count_ = 0;          // of variables
  const char* preload_ = nullptr;  // the value of LD_PRELOAD
  std::size_t bytes_ = 0;
  const char* foreign_linker_ = nullptr;  // why no library of ours can be loaded
};

}  // namespace fbleprof::capture
