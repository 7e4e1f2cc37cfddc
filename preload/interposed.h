// The functions that this library interposes on: interposed.def lists them, `original::name` calls
// the next definition.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/types.h>
#include <threads.h>
#include <ucontext.h>
#include <wordexp.h>

// These functions stand together, in a section of their own: their frames are on no path.
#define FBLEPROF_AMONG_INTERPOSED \
  __attribute__((visibility("default"), section("fbleprof_interposed")))
#define FBLEPROF_INTERPOSE extern "C" FBLEPROF_AMONG_INTERPOSED

namespace fbleprof::preload {

using Handler = void (*)(int);
using Strings = char* const*;  // argv, envp
// Of posix_spawn, whose first argument is a pid_t*, and of pidfd_spawn.
using Spawn = int(int*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);
// Takes and returns words, as a function of another type does that may have the same name.
using Words = long(long, long, long, long, long, long);

// The next definition of a function after ours: libc's, or that of another preloaded library. The
// constructor finds it, which keeps dlsym out of signal handlers and forked children; an earlier
// first call finds it itself.
class OriginalBase {
 public:
  constexpr explicit OriginalBase(const char* name) : name_(name) {}
  void* find();

 protected:
  void* function() {
    void* function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    return function ? function : find();
  }

 private:
  const char* name_;
  void* function_ = nullptr;
};

template <typename Signature>
class Original : public OriginalBase {
 public:
  using OriginalBase::OriginalBase;
  explicit operator bool() { return function() != nullptr; }
  Signature* get() { return reinterpret_cast<Signature*>(function()); }
  template <typename... Arguments>
  auto operator()(Arguments... arguments) {
    return get()(arguments...);
  }
};

namespace original {
#define EXPORTED(name)
#define CALLED(name, ...) extern constinit Original<__VA_ARGS__> name;
#define INTERPOSED(name, ...) extern constinit Original<__VA_ARGS__> name;
#include "interposed.def"
#undef INTERPOSED
#undef CALLED
#undef EXPORTED
}  // namespace original

// Finds all of them.
void find_originals();

}  // namespace fbleprof::preload
