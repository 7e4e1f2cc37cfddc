// Starts and ends the library with its process.
#include <stdlib.h>
#include <unistd.h>

#include "capture/attached.h"
#include "capture/ending.h"
#include "capture/loader_symbols.h"
#include "capture/process.h"
#include "capture/profile.h"
#include "interposed.h"
#include "watching.h"

// libc's: registers a function for exit().
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* object) noexcept;
extern "C" int __cxa_at_quick_exit(void (*function)(void*), void* object) noexcept;
// Of any sanitizer's runtime, if there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {
namespace original = fbleprof::preload::original;

void end_of_process() { fbleprof::capture::finish_process(fbleprof::format::State::kEnded, 0); }

// The library is initialised before all others (-z initfirst), so that their constructors are
// counted. The libc functions that it uses work before libc's own initialisation.
__attribute__((constructor)) void start(int, char**, char** environment) {
  using namespace fbleprof::preload;
  auto* order = fbleprof::capture::find_attach_order();
  if (order) fbleprof::capture::look_at_all_objects();
  find_originals();
  void (*tell_end)() = can_watch_anywhere() ? watch_this_thread : nullptr;
  if (order) return fbleprof::capture::start_attached(*order, tell_end);
  fbleprof::capture::start_process(environment, tell_end);
  if (!fbleprof::capture::is_profiling()) return;
  watch_this_thread();
  watch_forks();
  // As for forks, of no library (processes.cc).
  __cxa_at_quick_exit([](void*) { end_of_process(); }, nullptr);
}

// libc calls our destructor before those of other libraries, whose time and whose calls of free
// belong to the profile. What is registered while exit() works runs as soon as they are all done.
// But a sanitizer may find something in its destructor, and end the process by a system call.
__attribute__((destructor)) void end() {
  const bool may_end_early = __sanitizer_set_death_callback != nullptr;
  if (may_end_early || __cxa_atexit([](void*) { end_of_process(); }, nullptr, nullptr) != 0) {
    end_of_process();
  }
}
}  // namespace

FBLEPROF_INTERPOSE [[noreturn]] void _exit(int status) {
  end_of_process();
  original::_exit(status);
  __builtin_unreachable();
}

FBLEPROF_INTERPOSE [[noreturn]] void _Exit(int status) noexcept {
  end_of_process();
  original::_Exit(status);
  __builtin_unreachable();
}
