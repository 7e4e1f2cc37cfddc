#include "capture/signal_stack.h"

#include <cstdint>

#include "capture/own_signal_stack.h"
#include "capture/signals.h"
#include "capture/stack_bounds.h"
#include "capture/threads.h"

namespace fbleprof::capture {

namespace {

constexpr unsigned kAutoDisarm = 1u << 31;  // SS_AUTODISARM, which libc lacks

// The calling thread's, while the kernel does not know of it. Size 0: there is no such stack.
[[gnu::tls_model("initial-exec")]] constinit thread_local stack_t too_small{};

bool has_room(const stack_t& stack) { return stack.ss_size >= signal_frame_bytes(); }

// What the program set, if the kernel has `kernels`.
stack_t as_program_sees(const stack_t& kernels) {
  const bool is_ours = is_own_signal_stack(kernels);
  if (!is_off(kernels) && !is_ours) return kernels;
  if (too_small.ss_size != 0) return too_small;
  return is_ours ? kNoSignalStack : kernels;
}

}  // namespace

int set_signal_stack(const stack_t* stack, stack_t* old,
                     int (*real)(const stack_t*, stack_t*) noexcept) {
  if (!stack) {
    const int result = real(nullptr, old);
    if (result == 0 && old) *old = as_program_sees(*old);
    return result;
  }
  SamplingBlocked guard;  // until the kernel has forgotten a stack without room
  stack_t replaced{};
  // The kernel looks at the addresses first. `old` may be `stack`.
  const bool is_same = old == stack;
  const int result = real(stack, is_same ? &replaced : old);
  if (result != 0) return result;
  const stack_t given = *stack;
  if (is_same) *old = replaced;
  if (old) *old = as_program_sees(*old);
  too_small = {};
  if (!is_off(given) && has_room(given)) {
    note_signal_stack(given.ss_sp, given.ss_size);
    return 0;
  }
  const stack_t own = own_signal_stack();
  if (!is_off(given) || !is_off(own)) real(&own, nullptr);
  note_signal_stack(nullptr, 0);
  if (is_off(given)) return 0;
  too_small = given;
  too_small.ss_flags &= static_cast<int>(kAutoDisarm);
  return 0;
}

void learn_signal_stack() {
  stack_t now{};
  if (change_signal_stack(nullptr, &now) != 0 || is_off(as_program_sees(now))) return;
  note_signal_stack(now.ss_sp, now.ss_size);
}

}  // namespace fbleprof::capture
