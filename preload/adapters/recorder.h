// The recorder, as an adapter sees it: the C API, found with dlsym of any libc.
#pragma once

#include <cstdint>

#include "allocations/loader.h"

#include <fbleprof/fbleprof.h>

namespace fbleprof::adapters {

// Whether the recorder is loaded. Without it an adapter does nothing.
inline bool has_recorder() { return fbleprof_api_ != nullptr; }

// Samples in the code that holds `address` count as overhead.
inline void own_code(const void* address) {
  using Own = void(const void*);
  if (auto* own = reinterpret_cast<Own*>(dlsym(RTLD_DEFAULT, "fbleprof_adapter_code")))
    own(address);
}

// The first bytes of the functions that lead to the caller of this, innermost first, and 0 after
// the last.
inline void callers(const void** functions, int most) {
  using Callers = int(const void**, int);
  for (int i = 0; i < most; ++i) functions[i] = nullptr;
  if (auto* find = reinterpret_cast<Callers*>(dlsym(RTLD_DEFAULT, "fbleprof_callers"))) {
    find(functions, most);
  }
}

// The registers of the code that the handler has interrupted, as ucontext_t's gregs. Null outside
// of samples. To be called for the first time before the first sample.
inline const std::uint64_t* interrupted_registers() {
  using Registers = const std::uint64_t*();
  static auto* find =
      reinterpret_cast<Registers*>(dlsym(RTLD_DEFAULT, "fbleprof_interrupted_registers"));
  return find ? find() : nullptr;
}

}  // namespace fbleprof::adapters
