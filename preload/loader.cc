// The loader's calls that matter to the recorder.
#include "capture/profile.h"
#include "capture/switching.h"
#include "interposed.h"

FBLEPROF_INTERPOSE int dlclose(void* handle) {
  using namespace fbleprof::capture;
  const bool is_profiled = is_profiling() && is_own_process();
  if (is_profiled) before_unloading();
  const int result = fbleprof::preload::original::dlclose(handle);
  if (is_profiled) after_unloading();
  return result;
}
