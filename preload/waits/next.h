// The functions that the wrappers wrap: the next definitions of the functions in calls.def, in libc
// or another preloaded library. The constructor finds them, which keeps the loader's calls out of
// signal handlers and forked children; an earlier first call finds them itself.
#pragma once

#include <cstdint>

namespace fbleprof::preload {

class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

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
  // libc's, where the next definition is the recorder's own wrapper.
  const void* known_as() const { return known_as_; }

 private:
  const char* name_;
  void* function_ = nullptr;
  const void* known_as_ = nullptr;
};

namespace next {
#define EACH(name) extern constinit Next name;
#include "each_call.def"
}  // namespace next

}  // namespace fbleprof::preload
