#include "interposed.h"

#include "capture/loader_symbols.h"

namespace fbleprof::preload {

void* OriginalBase::find() {
  void* found = capture::next_definition(name_);
  __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
  return found;
}

namespace original {
#define EXPORTED(name)
#define CALLED(name, ...) constinit Original<__VA_ARGS__> name{#name};
#define INTERPOSED(name, ...) constinit Original<__VA_ARGS__> name{#name};
#include "interposed.def"
#undef INTERPOSED
#undef CALLED
}  // namespace original

void find_originals() {
#define CALLED(name, ...) original::name.find();
#define INTERPOSED(name, ...) original::name.find();
#include "interposed.def"
#undef INTERPOSED
#undef CALLED
#undef EXPORTED
}

}  // namespace fbleprof::preload
