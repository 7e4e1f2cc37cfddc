// The recorder, as an adapter sees it: the C API, by any libc's dlsym.
#pragma once

#include "allocations/loader.h"

#include <fbleprof/fbleprof.h>

namespace fbleprof::adapters {

// Whether there is one. Without it an adapter does nothing.
inline bool has_recorder() { return fbleprof_api_ != nullptr; }

// Samples in the code that holds `address` are the profiler's own cost.
inline void own_code(const void* address) {
  using Own = void(const void*);
  if (auto* own = reinterpret_cast<Own*>(dlsym(RTLD_DEFAULT, "fbleprof_adapter_code")))
    own(address);
}

}  // namespace fbleprof::adapters
