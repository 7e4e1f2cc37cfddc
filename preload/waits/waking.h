// Waits for an object that another thread of the program releases or signals, and the reports of
// that thread (signal_safe/wakers.h).
#pragma once

#include <errno.h>

#include "signal_safe/wakers.h"
#include "waiting.h"

namespace fbleprof::preload {

inline bool is_wanted(const void* object) {
  return fbleprof_wanted != nullptr &&
         __atomic_load_n(&fbleprof_wanted[signal_safe::wanted_place(object)], __ATOMIC_RELAXED) !=
             0;
}

// Call it before the object is released, if it is wanted: then there is a recorder.
[[gnu::noinline]] inline void let_go(std::uint64_t caller, const void* object) {
  const int saved_errno = errno;
  fbleprof_letting_go(caller, object);
  errno = saved_errno;
}

inline void let_go_if_wanted(std::uint64_t caller, const void* object) {
  if (is_wanted(object)) let_go(caller, object);
}

// Passes on a call that waits for an object; null: it is not known which.
[[gnu::always_inline]] inline Word wait_for(Next& callee, std::uint64_t caller, WaitKind kind,
                                            const void* object, Word a, Word b = 0, Word c = 0,
                                            Word d = 0, Word e = 0, Word f = 0) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  const Waiting waiting(callee, caller, kind, object);
  return function(a, b, c, d, e, f);
}

// Passes on a call that returns how many bytes it read.
[[gnu::always_inline]] inline Word received(Next& callee, std::uint64_t caller, WaitKind kind,
                                            const void* object, Word a, Word b, Word c, Word d,
                                            Word e, Word f) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller, kind, object);
  const Word result = function(a, b, c, d, e, f);
  waiting.has_read(result);
  return result;
}

// Passes on a call that returns how many bytes it wrote.
[[gnu::always_inline]] inline Word sent(Next& callee, std::uint64_t caller, Word a, Word b, Word c,
                                        Word d, Word e, Word f) {
  auto* function = callee.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(callee, caller);
  const Word result = function(a, b, c, d, e, f);
  waiting.has_written(result);
  return result;
}

}  // namespace fbleprof::preload
