// The loader's calls that matter to the recorder.
#include <cstdint>

#include "capture/profile.h"
#include "capture/switching.h"
#include "interposed.h"
#include "signal_safe/allocation_calls.h"

namespace {
constinit std::uint64_t unloads = 0;
constexpr std::uint64_t kEnded = std::uint64_t{1} << 32;
}  // namespace

FBLEPROF_INTERPOSE std::uint64_t fbleprof_unloads() {
  return __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

FBLEPROF_INTERPOSE int dlclose(void* handle) {
  using namespace fbleprof::capture;
  const bool is_profiled = is_profiling() && is_own_process();
  if (is_profiled) before_unloading();
  __atomic_fetch_add(&unloads, 1, __ATOMIC_ACQ_REL);
  const int result = fbleprof::preload::original::dlclose(handle);
  __atomic_fetch_add(&unloads, kEnded - 1, __ATOMIC_ACQ_REL);
  if (is_profiled) after_unloading();
  return result;
}
