// The loader's calls that matter to the recorder.
#include "capture/modules.h"
#include "capture/process.h"
#include "real.h"

namespace {
using fbleprof::preload::Real;
constinit Real<int (*)(void*)> real_dlclose{"dlclose"};
}  // namespace

FBLEPROF_INTERPOSE int dlclose(void* handle) {
  const int result = real_dlclose.get()(handle);
  if (fbleprof::capture::is_profiling()) fbleprof::capture::note_unloading();
  return result;
}

namespace fbleprof::preload {
void resolve_loader() { real_dlclose.resolve(); }
}  // namespace fbleprof::preload
