// The next definition of a function that this library interposes on.
#pragma once

#include <dlfcn.h>

namespace fbleprof::preload {

// Found once; used from then on without the loader. resolve() in the constructor keeps dlsym out of
// signal handlers and forked children. `Function` is a pointer type.
template <typename Function>
class Real {
 public:
  constexpr explicit Real(const char* name) : name_(name) {}
  Function resolve() {
    Function found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
    __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
    return found;
  }
  Function get() {
    Function function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    return function ? function : resolve();
  }

 private:
  const char* name_;
  Function function_ = nullptr;
};

}  // namespace fbleprof::preload

#define FBLEPROF_INTERPOSE extern "C" __attribute__((visibility("default")))
