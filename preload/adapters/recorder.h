// The recorder, as an adapter sees it: the C API, found with dlsym of any libc.
#pragma once

#include <cstdint>

#include "allocations/loader.h"

#include <fbleprof/fbleprof.h>

namespace fbleprof::adapters {

// What the recorder exports under this name, or null. A program that it was attached to has it
// outside of the global scope.
template <typename T>
T* of_recorder(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (!found) {
    void* recorder = dlopen("libfbleprof.so", RTLD_LAZY | RTLD_NOLOAD);
    if (recorder) found = dlsym(recorder, name);
  }
  return reinterpret_cast<T*>(found);
}

// Whether the recorder is loaded. Without it an adapter does nothing.
inline bool has_recorder() { return fbleprof_api_ != nullptr; }

// Finds the C API of a recorder that was attached. False: there is none of this version.
inline bool find_attached_recorder() {
  const auto* table = of_recorder<const fbleprof_api>("fbleprof_api_table");
  if (!table || table->version != FBLEPROF_API_VERSION || table->size < sizeof *table) return false;
  fbleprof_api_ = table;
  return true;
}

// Samples in the code that holds `address` count as overhead.
inline void own_code(const void* address) {
  using Own = void(const void*);
  if (auto* own = of_recorder<Own>("fbleprof_adapter_code")) own(address);
}

// The first bytes of the functions that lead to the caller of this, innermost first, and 0 after
// the last.
inline void callers(const void** functions, int most) {
  using Callers = int(const void**, int);
  for (int i = 0; i < most; ++i) functions[i] = nullptr;
  if (auto* find = of_recorder<Callers>("fbleprof_callers")) find(functions, most);
}

// The registers of the code that the handler has interrupted, as ucontext_t's gregs. Null outside
// of samples. To be called for the first time before the first sample.
inline const std::uint64_t* interrupted_registers() {
  using Registers = const std::uint64_t*();
  static auto* find = of_recorder<Registers>("fbleprof_interrupted_registers");
  return find ? find() : nullptr;
}

}  // namespace fbleprof::adapters
