#include "next.h"

#include "arch/loader.h"
#include "waiting.h"

namespace fbleprof::preload {

namespace next {
#define WAITED(name) constinit Next name{#name};
#define RECEIVED(name) WAITED(name)
#define SENT(name) WAITED(name)
#define EXPORTED(name) WAITED(name)
#define CALLED(name) WAITED(name)
#include "calls.def"
#undef WAITED
#undef RECEIVED
#undef SENT
#undef EXPORTED
#undef CALLED
}  // namespace next

namespace {

// Before glibc 2.36, dlsym finds the oldest version of a name after a library. Only these functions
// have versions that differ.
void* find_newest(const char* name) {
  constexpr char kConditions[] = "pthread_cond_";
  for (int i = 0; kConditions[i] != 0; ++i) {
    if (name[i] != kConditions[i]) return dlsym(RTLD_NEXT, name);
  }
  void* found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return found != nullptr ? found : dlsym(RTLD_NEXT, name);
}

bool is_recorders(const void* function) {
  Dl_info recorder, its;
  return fbleprof_wait_begins != nullptr &&
         dladdr(reinterpret_cast<void*>(&fbleprof_wait_begins), &recorder) != 0 &&
         dladdr(function, &its) != 0 && its.dli_fbase == recorder.dli_fbase;
}

const void* libcs(const char* name) {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc != nullptr ? dlsym(libc, name) : nullptr;
}

}  // namespace

void Next::find() {
  void* found = find_newest(name_);
  const void* named = found;
  if (found != nullptr && is_recorders(found)) {
    if (const void* behind = libcs(name_)) named = behind;
  }
  known_as_ = named;
  __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
}

}  // namespace fbleprof::preload

FBLEPROF_INTERPOSE void fbleprof_find_waited() {
  namespace next = fbleprof::preload::next;
#define WAITED(name) next::name.find();
#define RECEIVED(name) WAITED(name)
#define SENT(name) WAITED(name)
#define EXPORTED(name) WAITED(name)
#define CALLED(name) WAITED(name)
#include "calls.def"
  // What was not found is no error of the program's.
  dlerror();
}
