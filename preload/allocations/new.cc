// Wraps operator new and delete in all their forms.
//
// libstdc++'s are malloc and free with another way to fail. So if they are the next definitions,
// and the program replaces none of them, a wrapper calls the allocator behind malloc directly: the
// call site is then the program's, and a hop is saved. Only failures go to libstdc++, which asks
// the new-handler and throws. Other definitions (jemalloc's, tcmalloc's, mimalloc's) are called,
// and their blocks reported unless they came from malloc.
//
// This file has no exceptions and no clean-up: exceptions of operator new pass through.
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "loader.h"
#include "next.h"
#include "recorder.h"

namespace fbleprof::preload {

namespace {

// In a C program that loads C++ plugins, the C++ library is in no scope but theirs, and each call
// belongs to a plugin. What a lookup found is kept, for the page of the code that calls, until an
// object may have been unloaded.
struct KnownCall {
  std::uint64_t version;  // odd: being written
  std::uint64_t call;     // the page, and the lower part of the operator's address
  std::uint64_t unloads;
  void* found;
};
constinit KnownCall known_calls[512];
constexpr std::uint64_t kPage = 4096;

void* find_known(KnownCall& known, std::uint64_t call, std::uint64_t unloads) {
  const std::uint64_t version = __atomic_load_n(&known.version, __ATOMIC_ACQUIRE);
  const bool is_same = __atomic_load_n(&known.call, __ATOMIC_ACQUIRE) == call &&
                       __atomic_load_n(&known.unloads, __ATOMIC_ACQUIRE) == unloads;
  void* found = __atomic_load_n(&known.found, __ATOMIC_ACQUIRE);
  if (!is_same || version % 2 != 0) return nullptr;
  return __atomic_load_n(&known.version, __ATOMIC_ACQUIRE) == version ? found : nullptr;
}

// A lookup takes milliseconds, so calls that meet in one place take the next ones.
constexpr std::uint64_t kPlaces = 8;
KnownCall& known_at(std::uint64_t place) {
  return known_calls[place % (sizeof known_calls / sizeof known_calls[0])];
}

void* find_known(std::uint64_t place, std::uint64_t call, std::uint64_t unloads) {
  void* found = nullptr;
  for (std::uint64_t i = 0; i < kPlaces && found == nullptr; ++i) {
    found = find_known(known_at(place + i), call, unloads);
  }
  return found;
}

KnownCall& free_place(std::uint64_t place, std::uint64_t unloads) {
  for (std::uint64_t i = 0; i < kPlaces; ++i) {
    KnownCall& known = known_at(place + i);
    if (__atomic_load_n(&known.call, __ATOMIC_RELAXED) == 0 ||
        __atomic_load_n(&known.unloads, __ATOMIC_RELAXED) != unloads) {
      return known;
    }
  }
  return known_at(place);
}

void keep(KnownCall& known, std::uint64_t call, std::uint64_t unloads, void* found) {
  std::uint64_t version = __atomic_load_n(&known.version, __ATOMIC_RELAXED);
  if (version % 2 != 0 || !__atomic_compare_exchange_n(&known.version, &version, version + 1, false,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_store_n(&known.call, call, __ATOMIC_RELEASE);
  __atomic_store_n(&known.unloads, unloads, __ATOMIC_RELEASE);
  __atomic_store_n(&known.found, found, __ATOMIC_RELEASE);
  __atomic_store_n(&known.version, version + 2, __ATOMIC_RELEASE);
}

// The lowest address of this library, and the end of its code.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char etext[] __attribute__((visibility("hidden")));
bool is_here(std::uint64_t place) {
  return place >= reinterpret_cast<std::uint64_t>(__ehdr_start) &&
         place < reinterpret_cast<std::uint64_t>(etext);
}

// One of C++'s functions behind ours.
class NextOperator {
 public:
  constexpr explicit NextOperator(const char* name) : name_(name) {}

  template <typename Result, typename... Arguments>
  Result call(std::uint64_t caller, Arguments... arguments) {
    void* function = function_;
    if (function == nullptr) [[unlikely]]
      function = find(caller);
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
  }

  void* find(std::uint64_t caller) {
    if (!is_in_plugins_) {
      if (void* found = dlsym(RTLD_NEXT, name_)) {
        __atomic_store_n(&function_, found, __ATOMIC_RELEASE);
        return found;
      }
      is_in_plugins_ = true;  // a lookup that fails allocates its message
    }
    void* found = find_in_plugins(reinterpret_cast<const std::uint64_t*>(caller));
    if (found == nullptr) abort();  // C++ code runs without its library
    return found;
  }

 private:
  void* find_in_plugins(const std::uint64_t* caller) {
    // The library ends some forms by a jump to others: these return to our wrapper of the first.
    while (is_here(caller[1])) caller = reinterpret_cast<const std::uint64_t*>(caller[0]);
    const std::uint64_t call =
        caller[1] / kPage * kPage + reinterpret_cast<std::uint64_t>(this) % kPage;
    const auto* place = reinterpret_cast<const void*>(caller[1]);
    if (fbleprof_find_local_definition == nullptr) {  // without the recorder
      find_librarys();
      return librarys_ != nullptr ? librarys_ : find_in_object_of(place);
    }
    const std::uint64_t place_of_call = call / kPage + call % kPage / sizeof *this;
    const std::uint64_t unloads = fbleprof_unloads();
    if (void* found = find_known(place_of_call, call, unloads)) return found;
    void* found = fbleprof_find_local_definition(name_, place);
    if (found == nullptr || is_here(reinterpret_cast<std::uint64_t>(found))) {
      find_librarys();
      return librarys_ != nullptr ? librarys_ : find_in_object_of(place);
    }
    // While an object is being unloaded, its place may get another one.
    if (static_cast<std::uint32_t>(unloads) == 0)
      keep(free_place(place_of_call, unloads), call, unloads, found);
    return found;
  }

  // A link map is a handle, at least of what dlopen was called for; dlopen would allocate memory.
  void* find_in_object_of(const void* place) const {
    Dl_info info;
    void* object = nullptr;
    return dladdr1(place, &info, &object, RTLD_DL_LINKMAP) != 0 ? dlsym(object, name_) : nullptr;
  }

  // It stays loaded from now on.
  void find_librarys() {
    if (__atomic_load_n(&librarys_, __ATOMIC_ACQUIRE) != nullptr) return;
    for (const char* library : {"libstdc++.so.6", "libc++.so.1"}) {
      void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
      void* found = handle != nullptr ? dlsym(handle, name_) : nullptr;
      if (found != nullptr) return __atomic_store_n(&librarys_, found, __ATOMIC_RELEASE);
    }
  }

  const char* name_;
  void* function_ = nullptr;  // for all callers
  void* librarys_ = nullptr;  // where no definition is found for the caller
  bool is_in_plugins_ = false;
};

bool is_in_libstdcxx(void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 && strstr(info.dli_fname, "libstdc++.so") != nullptr;
}

// Whether operator new is malloc and operator delete is free, for all callers.
enum class Shortcut : std::uint8_t { kUnknown, kNo, kYes };
constinit Shortcut shortcut = Shortcut::kUnknown;

bool is_ours(const char* name) { return base_of(dlsym(RTLD_DEFAULT, name)) == base_of(&shortcut); }

[[gnu::noinline]] bool find_shortcut() {
  if (!has_next()) return false;
  // A malloc of the program's own: libstdc++'s aligned forms call it, and so must all the others.
  bool is_open = is_ours("malloc") && is_ours("free");
  for (const char* name : {"_Znwm", "_ZdlPv", "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t"}) {
    is_open = is_open && is_ours(name) && is_in_libstdcxx(dlsym(RTLD_NEXT, name));
  }
  shortcut = is_open ? Shortcut::kYes : Shortcut::kNo;
  return is_open;
}
inline bool takes_shortcut() {
  if (shortcut == Shortcut::kUnknown) [[unlikely]]
    return find_shortcut();
  return shortcut == Shortcut::kYes;
}

template <typename... Arguments>
inline void* allocate(NextOperator& next_operator, std::uint64_t caller, std::size_t bytes,
                      Arguments... others) {
  if (takes_shortcut()) [[likely]] {
    void* block = next.malloc(bytes != 0 ? bytes : 1);
    if (block != nullptr) [[likely]] {
      tell(caller, block, bytes);
      return block;
    }
  }
  const std::uint64_t before = told;
  void* block = next_operator.call<void*>(caller, bytes, others...);
  if (told == before) tell(caller, block, bytes);
  return block;
}

template <typename... Arguments>
inline void* allocate_aligned(NextOperator& next_operator, std::uint64_t caller, std::size_t bytes,
                              std::size_t alignment, Arguments... others) {
  const std::uint64_t before = told;
  void* block = next_operator.call<void*>(caller, bytes, alignment, others...);
  if (told == before) tell(caller, block, bytes);
  return block;
}

template <typename... Arguments>
inline void release(NextOperator& next_operator, std::uint64_t caller, void* block,
                    Arguments... others) {
  if (block == nullptr || is_early(block)) [[unlikely]]
    return;
  tell_of_end(block);
  if (takes_shortcut()) [[likely]] {
    next.free(block);
  } else {
    next_operator.call<void>(caller, block, others...);
  }
}

}  // namespace
}  // namespace fbleprof::preload

using namespace fbleprof::preload;
using Tag = const void*;  // std::nothrow_t

#define FBLEPROF_NEW(name)                                \
  static constinit NextOperator next_##name{#name};       \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes) {      \
    return allocate(next_##name, FBLEPROF_CALLER, bytes); \
  }
#define FBLEPROF_NEW_NOTHROW(name)                                     \
  static constinit NextOperator next_##name{#name};                    \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes, Tag tag) noexcept { \
    return allocate(next_##name, FBLEPROF_CALLER, bytes, tag);         \
  }
#define FBLEPROF_NEW_ALIGNED(name)                                           \
  static constinit NextOperator next_##name{#name};                          \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes, std::size_t alignment) {  \
    return allocate_aligned(next_##name, FBLEPROF_CALLER, bytes, alignment); \
  }
#define FBLEPROF_NEW_ALIGNED_NOTHROW(name)                                                    \
  static constinit NextOperator next_##name{#name};                                           \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes, std::size_t alignment, Tag tag) noexcept { \
    return allocate_aligned(next_##name, FBLEPROF_CALLER, bytes, alignment, tag);             \
  }
FBLEPROF_NEW(_Znwm)
FBLEPROF_NEW(_Znam)
FBLEPROF_NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
FBLEPROF_NEW_NOTHROW(_ZnamRKSt9nothrow_t)
FBLEPROF_NEW_ALIGNED(_ZnwmSt11align_val_t)
FBLEPROF_NEW_ALIGNED(_ZnamSt11align_val_t)
FBLEPROF_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
FBLEPROF_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)

// A block, and up to two more arguments: its size, its alignment, std::nothrow.
#define FBLEPROF_DELETE(name)                          \
  static constinit NextOperator next_##name{#name};    \
  FBLEPROF_INTERPOSE void name(void* block) noexcept { \
    release(next_##name, FBLEPROF_CALLER, block);      \
  }
#define FBLEPROF_DELETE_1(name)                                         \
  static constinit NextOperator next_##name{#name};                     \
  FBLEPROF_INTERPOSE void name(void* block, std::uint64_t a) noexcept { \
    release(next_##name, FBLEPROF_CALLER, block, a);                    \
  }
#define FBLEPROF_DELETE_2(name)                                                          \
  static constinit NextOperator next_##name{#name};                                      \
  FBLEPROF_INTERPOSE void name(void* block, std::uint64_t a, std::uint64_t b) noexcept { \
    release(next_##name, FBLEPROF_CALLER, block, a, b);                                  \
  }
FBLEPROF_DELETE(_ZdlPv)
FBLEPROF_DELETE(_ZdaPv)
FBLEPROF_DELETE_1(_ZdlPvm)
FBLEPROF_DELETE_1(_ZdaPvm)
FBLEPROF_DELETE_1(_ZdlPvRKSt9nothrow_t)
FBLEPROF_DELETE_1(_ZdaPvRKSt9nothrow_t)
FBLEPROF_DELETE_1(_ZdlPvSt11align_val_t)
FBLEPROF_DELETE_1(_ZdaPvSt11align_val_t)
FBLEPROF_DELETE_2(_ZdlPvmSt11align_val_t)
FBLEPROF_DELETE_2(_ZdaPvmSt11align_val_t)
FBLEPROF_DELETE_2(_ZdlPvSt11align_val_tRKSt9nothrow_t)
FBLEPROF_DELETE_2(_ZdaPvSt11align_val_tRKSt9nothrow_t)
