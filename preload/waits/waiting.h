// The common part of all wrappers: they report to the recorder when a call begins and ends. Without
// the recorder (only this library was preloaded) they report to nobody.
//
// A wrapper is a function of words: the registers that hold arguments are passed on unchanged,
// including those that a call does not use, and so is the result. So one shape fits all calls. A
// wrapper may be left by longjmp or cancellation, or may never return, also in a forked or vforked
// child.
#pragma once

#include <errno.h>

#include <cstdint>

#include "next.h"
#include "signal_safe/wait_calls.h"

#define FBLEPROF_INTERPOSE extern "C" __attribute__((visibility("default")))
// The place of the caller's frame pointer and return address, in the wrapper that uses the macro.
#define FBLEPROF_CALLER reinterpret_cast<std::uint64_t>(__builtin_frame_address(0))
// A wrapper of the function `name`, which next.cc exports.
#define FBLEPROF_WRAPPER(result, name, ...)                                        \
  extern "C" result wrapped_##name(__VA_ARGS__) __asm__("fbleprof_wrapped_" #name) \
      __attribute__((visibility("hidden")));                                       \
  result wrapped_##name(__VA_ARGS__)

extern "C" {
extern decltype(fbleprof_letting_go) fbleprof_letting_go __attribute__((weak));
extern std::uint16_t fbleprof_wanted[FBLEPROF_WANTED_PLACES] __attribute__((weak));
extern decltype(fbleprof_find_definition) fbleprof_find_definition __attribute__((weak));
extern decltype(fbleprof_is_own_process) fbleprof_is_own_process __attribute__((weak));
extern decltype(fbleprof_jumps) fbleprof_jumps __attribute__((weak));
extern decltype(fbleprof_wait_begins) fbleprof_wait_begins __attribute__((weak));
extern decltype(fbleprof_wait_ends) fbleprof_wait_ends __attribute__((weak));
}

namespace fbleprof::preload {

using format::WaitKind;
using Word = long;
using OfWords = Word(Word, Word, Word, Word, Word, Word);

// While this lives, the calling thread is in a call that may block.
class Waiting {
 public:
  [[gnu::always_inline]] Waiting(const Next& callee, std::uint64_t caller,
                                 WaitKind kind = WaitKind::kForOther,
                                 const void* object = nullptr) {
    wait_.since_ns = 0;
    wait_.kind = kind;
    wait_.object = object;
    wait_.frame = caller;
    wait_.callee = callee.known_as();
    if (fbleprof_wait_begins != nullptr) fbleprof_wait_begins(&wait_);
  }
  [[gnu::always_inline]] ~Waiting() {
    if (wait_.since_ns != 0) fbleprof_wait_ends(&wait_, read_, written_);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void has_read(Word bytes) { read_ = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0; }
  void has_written(Word bytes) { written_ = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0; }

 private:
  fbleprof_wait wait_;
  std::uint64_t read_ = 0, written_ = 0;
};

// The result of a call that no library has: a program can still find our wrapper.
inline Word missing() {
  errno = ENOSYS;
  return -1;
}

// Passes on a call that does not block.
inline Word pass_on(Next& callee, Word a, Word b = 0, Word c = 0, Word d = 0, Word e = 0) {
  auto* function = callee.as<OfWords>();
  return function != nullptr ? function(a, b, c, d, e, 0) : missing();
}

// Passes on a call that may block.
template <WaitKind kKind = WaitKind::kForOther>
[[gnu::always_inline]] inline Word waited(Next& callee, std::uint64_t caller, Word a, Word b = 0,
                                          Word c = 0, Word d = 0, Word e = 0, Word f = 0) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  const Waiting waiting(callee, caller, kKind);
  return function(a, b, c, d, e, f);
}

// The same out of line, for wrappers of calls that seldom block.
[[gnu::noinline]] inline Word wait_in(Next& callee, std::uint64_t caller, Word a, Word b = 0,
                                      Word c = 0, Word d = 0, Word e = 0) {
  return waited(callee, caller, a, b, c, d, e);
}

}  // namespace fbleprof::preload
