// Makes the code of loaded modules call hooks: by rewriting it (exact.h), or through the sites that
// compilers left (switching.h).
#pragma once

#include <cstdint>

namespace fbleprof::capture {

// Prepares the modules that are loaded, and watches for new ones. Call it before the program's
// first constructor.
void prepare_modules();

// How the loader is made to call `changed` when it has mapped or unmapped modules: a jump to
// `trampoline` at `place`. If that is not possible, `obstacle` says why, and is null otherwise.
struct LoaderWatch {
  std::uint8_t* place = nullptr;
  std::uint64_t trampoline = 0;
  const char* obstacle = nullptr;
};
LoaderWatch prepare_loader_watch(void (*changed)());

// Passes over the modules that are new now.
void settle_new_modules();

// In a forked child with its own file: its parent already prepared these modules.
void recognize_prepared();

}  // namespace fbleprof::capture
