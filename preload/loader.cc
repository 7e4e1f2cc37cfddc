// The loader's calls that matter to the recorder.
#include "capture/modules.h"
#include "capture/profile.h"
#include "interposed.h"

FBLEPROF_INTERPOSE int dlclose(void* handle) {
  const int result = fbleprof::preload::original::dlclose(handle);
  if (fbleprof::capture::is_profiling()) fbleprof::capture::note_unloading();
  return result;
}
