#include "next.h"

#include "allocations/loader.h"
#include "waiting.h"

// This library's own; <link.h> declares it, but not as hidden.
extern "C" const char _DYNAMIC[] __attribute__((visibility("hidden")));

namespace fbleprof::preload {

namespace next {
#define EACH(name) constinit Next name{#name};
#include "each_call.def"
}  // namespace next

namespace {

// For use without the recorder. Before glibc 2.36, dlsym finds the oldest version of a name after a
// library; only these functions have versions that differ.
void* find_by_loader(const char* name) {
  constexpr char kConditions[] = "pthread_cond_";
  for (int i = 0; kConditions[i] != 0; ++i) {
    if (name[i] != kConditions[i]) return dlsym(RTLD_NEXT, name);
  }
  void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return found != nullptr ? found : dlsym(RTLD_NEXT, name);
}

}  // namespace

void Next::find() {
  const void* known_as = nullptr;
  void* found = fbleprof_next_function != nullptr
                    ? fbleprof_next_function(name_, _DYNAMIC, &known_as)
                    : find_by_loader(name_);
  known_as_ = known_as != nullptr ? known_as : found;
  __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
}

}  // namespace fbleprof::preload

FBLEPROF_INTERPOSE void fbleprof_find_waited() {
  namespace next = fbleprof::preload::next;
#define EACH(name) next::name.find();
#include "each_call.def"
}
