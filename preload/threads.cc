// Threads, from their first instruction to the last of their destructors; and fibers.
#include <limits.h>
#include <pthread.h>
#include <threads.h>
#include <ucontext.h>

#include "arch/registers.h"
#include "capture/fibers.h"
#include "capture/fork_child.h"
#include "capture/profile.h"
#include "capture/signals.h"
#include "capture/stack_bounds.h"
#include "capture/threads.h"
#include "interposed.h"
#include "signal_safe/blocks.h"
#include "signal_safe/enter.h"
#include "signal_safe/wait_calls.h"
#include "watching.h"

namespace {
namespace original = fbleprof::preload::original;
namespace capture = fbleprof::capture;
namespace signal_safe = fbleprof::signal_safe;

pthread_key_t end_key;
bool has_end_key = false;

// Runs among the thread's other destructors, in an order that we cannot choose. It postpones itself
// to the last round, so that the others are profiled.
void at_thread_end(void* round) {
  const auto n = reinterpret_cast<unsigned long>(round);
  if (n < PTHREAD_DESTRUCTOR_ITERATIONS &&
      original::pthread_setspecific(end_key, reinterpret_cast<void*>(n + 1)) == 0) {
    return;
  }
  capture::detach_this_thread();
}

std::uint64_t stack_bytes_of(const pthread_attr_t* attributes) {
  std::size_t bytes = std::size_t{8} << 20;  // if it is not known
  if (attributes) {
    original::pthread_attr_getstacksize(attributes, &bytes);
  } else {
    pthread_attr_t defaults;
    if (original::pthread_getattr_default_np(&defaults) == 0) {
      original::pthread_attr_getstacksize(&defaults, &bytes);
      original::pthread_attr_destroy(&defaults);
    }
  }
  return bytes;
}

using Start = capture::ThreadStart;

Start take(void* argument) {
  auto* prepared = static_cast<Start*>(argument);
  const Start start = *prepared;
  if (capture::handler_is_installed()) capture::open_mask_of_thread();
  {
    capture::SamplingBlocked guard;
    capture::attach_prepared_thread(prepared, capture::bounds_of_new_thread(start.stack_bytes));
  }
  fbleprof::preload::watch_this_thread();
  return start;
}

void* run_pthread(void* argument) {
  const Start start = take(argument);
  return start.pthread_function(start.argument);
}

int run_thrd(void* argument) {
  const Start start = take(argument);
  return start.thrd_function(start.argument);
}

// Null: the thread is started unprofiled.
Start* prepare(const pthread_attr_t* attributes) {
  if (!capture::takes_threads() || !capture::owns_profile()) return nullptr;
  Start* start = capture::prepare_thread();
  if (start) start->stack_bytes = stack_bytes_of(attributes);
  return start;
}

// After the thread was created, or not.
void note_creation(Start* start, bool is_created) {
  if (!is_created && start) capture::cancel_thread(start);
  // The program has confined itself.
  if (is_created && !capture::takes_threads() && capture::is_profiling()) {
    capture::count_lost_thread();
  }
}

// A new thread inherits its creator's mask, unless its attributes have another. If the program
// blocks the sampling signal, the kernel must do so, too: it may send one of the program's before
// the thread's first instruction.
using InheritedMask = capture::MaskOfProgram;
}  // namespace

FBLEPROF_INTERPOSE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                      void* (*function)(void*), void* argument) {
  Start* start = prepare(attributes);
  if (start) {
    start->pthread_function = function;
    start->argument = argument;
  }
  const InheritedMask mask;
  const int result = start ? original::pthread_create(thread, attributes, run_pthread, start)
                           : original::pthread_create(thread, attributes, function, argument);
  note_creation(start, result == 0);
  return result;
}

FBLEPROF_INTERPOSE int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  Start* start = prepare(nullptr);
  if (start) {
    start->thrd_function = function;
    start->argument = argument;
  }
  const InheritedMask mask;
  const int result = start ? original::thrd_create(thread, run_thrd, start)
                           : original::thrd_create(thread, function, argument);
  note_creation(start, result == thrd_success);
  return result;
}

FBLEPROF_INTERPOSE int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  const int result = original::pthread_setname_np(thread, name);
  if (result == 0) capture::note_thread_name(thread, name);
  return result;
}

FBLEPROF_INTERPOSE int swapcontext(ucontext_t* from, const ucontext_t* to) noexcept {
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  capture::note_switch(to, FBLEPROF_OWN_FRAME, at);
  return original::swapcontext(from, to);
}
FBLEPROF_INTERPOSE int setcontext(const ucontext_t* to) noexcept {
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  capture::note_switch(to, FBLEPROF_OWN_FRAME, at);
  fbleprof_jumps(fbleprof::arch::state_of(to).sp);
  return original::setcontext(to);
}

namespace fbleprof::preload {
namespace {
bool make_end_key() {
  if (!has_end_key && original::pthread_key_create) {
    has_end_key = original::pthread_key_create(&end_key, at_thread_end) == 0;
  }
  return has_end_key;
}
}  // namespace

void watch_this_thread() {
  if (make_end_key()) original::pthread_setspecific(end_key, reinterpret_cast<void*>(1));
}

// glibc allocates memory for the values of later keys.
bool can_watch_anywhere() {
  constexpr pthread_key_t kFirstWithMemory = 32;
  return make_end_key() && end_key < kFirstWithMemory;
}
}  // namespace fbleprof::preload
