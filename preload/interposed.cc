#include "interposed.h"

#include <dlfcn.h>

namespace fbleprof::preload {

void* OriginalBase::find() {
  void* found = dlsym(RTLD_NEXT, name_);
  __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
  return found;
}

namespace original {
#define EXPORTED(name)
#define INTERPOSED(name, ...) constinit Original<__VA_ARGS__> name{#name};
#include "interposed.def"
#undef INTERPOSED
}  // namespace original

void find_originals() {
#define INTERPOSED(name, ...) original::name.find();
#include "interposed.def"
#undef INTERPOSED
#undef EXPORTED
}

}  // namespace fbleprof::preload
