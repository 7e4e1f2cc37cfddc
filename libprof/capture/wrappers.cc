#include "capture/wrappers.h"

#include "signal_safe/loaded_objects.h"
#include "signal_safe/session.h"

// The linker defines them if the section exists: not in tests of this layer alone.
extern "C" {
extern const char __start_fbleprof_interposed[] __attribute__((weak, visibility("hidden")));
extern const char __stop_fbleprof_interposed[] __attribute__((weak, visibility("hidden")));
}

namespace fbleprof::capture {

using signal_safe::session;

void add_interposed() {
  if (__start_fbleprof_interposed == nullptr) return;
  session.wrappers.add(reinterpret_cast<std::uint64_t>(__start_fbleprof_interposed),
                       reinterpret_cast<std::uint64_t>(__stop_fbleprof_interposed));
}

void add_wrappers(std::uint64_t address) {
  signal_safe::LoadedObject library;
  if (signal_safe::find_object(address, &library)) {
    session.wrappers.add(library.begin, library.end);
  }
}

}  // namespace fbleprof::capture
