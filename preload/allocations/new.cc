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
#include "withdrawal.h"

namespace fbleprof::preload {

namespace {

// One of C++'s functions behind ours.
class NextOperator {
 public:
  constexpr explicit NextOperator(const char* name) : name_(name) {}

  template <typename Result, typename... Arguments>
  Result call(Arguments... arguments) {
    void* function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    if (function == nullptr) [[unlikely]] {
      find();  // before the constructors
      function = function_;
      if (function == nullptr) abort();
    }
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
  }

  void* function() const { return function_; }
  const char* name() const { return name_; }

  // There is one if the program calls ours: the loader finds ours only if there was one when the
  // program started (withdraw), and that one stays.
  void find() { __atomic_store_n(&function_, dlsym(RTLD_NEXT, name_), __ATOMIC_RELEASE); }

 private:
  const char* name_;
  void* function_ = nullptr;
};

bool is_in_library(const char* name, void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 && strstr(info.dli_fname, name) != nullptr;
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
    is_open = is_open && is_ours(name) && is_in_library("libstdc++.so", dlsym(RTLD_NEXT, name));
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
  void* block = next_operator.call<void*>(bytes, others...);
  if (told == before) tell(caller, block, bytes);
  return block;
}

template <typename... Arguments>
inline void* allocate_aligned(NextOperator& next_operator, std::uint64_t caller, std::size_t bytes,
                              std::size_t alignment, Arguments... others) {
  const std::uint64_t before = told;
  void* block = next_operator.call<void*>(bytes, alignment, others...);
  if (told == before) tell(caller, block, bytes);
  return block;
}

template <typename... Arguments>
inline void release(NextOperator& next_operator, void* block, Arguments... others) {
  if (block == nullptr || is_early(block)) [[unlikely]]
    return;
  tell_of_end(block);
  if (takes_shortcut()) [[likely]] {
    next.free(block);
  } else {
    next_operator.call<void>(block, others...);
  }
}

}  // namespace
}  // namespace fbleprof::preload

using namespace fbleprof::preload;
using Tag = const void*;  // std::nothrow_t

// They stand together: an array, for find_next_operators.
#define FBLEPROF_NEXT(name) \
  static constinit NextOperator next_##name __attribute__((section("fbleprof_operators"))){#name};
extern "C" {
extern NextOperator __start_fbleprof_operators[] __attribute__((visibility("hidden")));
extern NextOperator __stop_fbleprof_operators[] __attribute__((visibility("hidden")));
}

#define FBLEPROF_NEW(name)                                \
  FBLEPROF_NEXT(name)                                     \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes) {      \
    return allocate(next_##name, FBLEPROF_CALLER, bytes); \
  }
#define FBLEPROF_NEW_NOTHROW(name)                                     \
  FBLEPROF_NEXT(name)                                                  \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes, Tag tag) noexcept { \
    return allocate(next_##name, FBLEPROF_CALLER, bytes, tag);         \
  }
#define FBLEPROF_NEW_ALIGNED(name)                                           \
  FBLEPROF_NEXT(name)                                                        \
  FBLEPROF_INTERPOSE void* name(std::size_t bytes, std::size_t alignment) {  \
    return allocate_aligned(next_##name, FBLEPROF_CALLER, bytes, alignment); \
  }
#define FBLEPROF_NEW_ALIGNED_NOTHROW(name)                                                    \
  FBLEPROF_NEXT(name)                                                                         \
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
#define FBLEPROF_DELETE(name) \
  FBLEPROF_NEXT(name)         \
  FBLEPROF_INTERPOSE void name(void* block) noexcept { release(next_##name, block); }
#define FBLEPROF_DELETE_1(name)                                         \
  FBLEPROF_NEXT(name)                                                   \
  FBLEPROF_INTERPOSE void name(void* block, std::uint64_t a) noexcept { \
    release(next_##name, block, a);                                     \
  }
#define FBLEPROF_DELETE_2(name)                                                          \
  FBLEPROF_NEXT(name)                                                                    \
  FBLEPROF_INTERPOSE void name(void* block, std::uint64_t a, std::uint64_t b) noexcept { \
    release(next_##name, block, a, b);                                                   \
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

void fbleprof::preload::find_next_operators() {
  const char* missing[kMostWithdrawn];
  int count = 0;
  for (NextOperator* each = __start_fbleprof_operators; each != __stop_fbleprof_operators; ++each) {
    each->find();
    if (each->function() == nullptr && count < kMostWithdrawn) missing[count++] = each->name();
  }
  withdraw(missing, count);
}

void fbleprof::preload::settle_operators() {
  if (next__Znwm.function() != nullptr) takes_shortcut();
}

bool fbleprof::preload::has_foreign_operators() {
  return next__Znwm.function() != nullptr &&
         !is_in_library("libstdc++.so", next__Znwm.function()) &&
         !is_in_library("libc++", next__Znwm.function());
}
