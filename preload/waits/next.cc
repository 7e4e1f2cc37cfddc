#include "next.h"

#include "allocations/loader.h"
#include "arch/forwarder.h"
#include "waiting.h"

// This library's own; <link.h> declares it, but not as hidden.
extern "C" const char _DYNAMIC[] __attribute__((visibility("hidden")));

// The exported functions, and the wrappers.
#define EACH(name)                                                               \
  FBLEPROF_FORWARDER(name, fbleprof_next_##name, fbleprof_first_##name)          \
  extern "C" void fbleprof_first_##name() __attribute__((visibility("hidden"))); \
  extern "C" void wrapper_##name() __asm__("fbleprof_wrapped_" #name)            \
      __attribute__((visibility("hidden")));
#define EACH_CALLED(name)
#include "each_call.def"
FBLEPROF_FIRST_FORWARD(fbleprof_find_first)

namespace fbleprof::preload {

namespace next {
#define EACH(name) constinit Next name{#name, fbleprof_first_##name, wrapper_##name};
#define EACH_VARIADIC(name, listed) \
  constinit Next name{#name, fbleprof_first_##name, wrapper_##name, #listed};
#define EACH_CALLED(name) constinit Next name{#name, nullptr, nullptr};
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

bool Next::may_call_listed(const fbleprof_definition& found) const {
  if (listed_ == nullptr) return true;
  fbleprof_definition listed{};
  fbleprof_find_definition(listed_, _DYNAMIC, &listed);
  return found.is_libcs && listed.is_libcs;
}

void Next::find() {
  fbleprof_definition found{};
  const bool is_recorded = fbleprof_find_definition != nullptr;
  if (is_recorded) {
    fbleprof_find_definition(name_, _DYNAMIC, &found);
  } else {
    found.next = find_by_loader(name_);
    found.known_as = found.of_libc = found.next;
  }
  known_as_ = found.known_as;
  is_libcs_ = found.is_libcs;
  __atomic_store_n(&function_, found.of_libc, __ATOMIC_RELEASE);
  const bool is_direct = found.next != nullptr &&
                         (!is_recorded || found.next != found.of_libc || !may_call_listed(found));
  __atomic_store_n(&way_, is_direct ? reinterpret_cast<Code*>(found.next) : wrapper_,
                   __ATOMIC_RELEASE);
}

}  // namespace fbleprof::preload

// The first call of an exported function came before the constructor.
extern "C" __attribute__((visibility("hidden"))) void fbleprof_find_first(
    fbleprof::preload::Next* next) {
  const int saved_errno = errno;
  next->find();
  errno = saved_errno;
}

FBLEPROF_INTERPOSE void fbleprof_find_waited() {
  namespace next = fbleprof::preload::next;
#define EACH(name) next::name.find();
#define EACH_CALLED(name) EACH(name)
#include "each_call.def"
}
