// The functions that the wrappers wrap: the next definitions of the functions in calls.def, in libc
// or another preloaded library. The constructor finds them, which keeps the loader's calls out of
// signal handlers and forked children; an earlier first call finds them itself.
//
// The exported functions are not the wrappers. They jump to where Next says and change no register,
// so that a function of any type can stand behind them:
//  - the wrapper, if the next definition is libc's;
//  - a function that a library of the program defines under the same name: this is not libc's
//    function, may have other arguments, and is not recorded;
//  - the next definition, if there is no recorder;
//  - the next definition of a function with `...`, which no wrapper can pass on, if that or what
//  its
//    wrapper calls instead, the one with a list of arguments, is a preloaded library's.
#pragma once

#include <cstdint>

struct fbleprof_definition;

namespace fbleprof::preload {

class Next {
 public:
  using Code = void();
  // `first` finds the definition and goes there; both are null if the call is not exported.
  // `listed`: what the wrapper of a function with `...` calls; null for the others.
  constexpr Next(const char* name, Code* first, Code* wrapper, const char* listed = nullptr)
      : way_(first), name_(name), wrapper_(wrapper), listed_(listed) {}

  void find();
  // Null: no library has it.
  template <typename Function>
  Function* as() {
    void* function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    if (function == nullptr) [[unlikely]] {
      find();
      function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    }
    return reinterpret_cast<Function*>(function);
  }
  // As the constructor found it; also null if no library had it then.
  template <typename Function>
  Function* as_found() const {
    return reinterpret_cast<Function*>(__atomic_load_n(&function_, __ATOMIC_ACQUIRE));
  }
  // False: the function is a preloaded library's, which may do more than libc's.
  bool is_libcs() const { return is_libcs_; }
  // libc's, where the next definition is the recorder's own wrapper.
  const void* known_as() const { return known_as_; }

 private:
  bool may_call_listed(const fbleprof_definition& found) const;

  Code* way_;  // where the exported function jumps to; first, for arch/forwarder.h
  const char* name_;
  Code* wrapper_;
  const char* listed_;
  void* function_ = nullptr;
  const void* known_as_ = nullptr;
  bool is_libcs_ = false;
};

namespace next {
#define EACH(name) extern constinit Next name __asm__("fbleprof_next_" #name);
#define EACH_CALLED(name) EACH(name)
#include "each_call.def"
}  // namespace next

}  // namespace fbleprof::preload
