#include "capture/signal_stack.h"

#include <cstdint>

#include "arch/kernel.h"
#include "capture/signals.h"
#include "capture/stack_bounds.h"
#include "capture/threads.h"

namespace fbleprof::capture {

namespace {

constexpr unsigned kAutoDisarm = 1u << 31;  // SS_AUTODISARM, which libc lacks

// The calling thread's, while the kernel knows of none. Size 0: there is no such stack.
[[gnu::tls_model("initial-exec")]] constinit thread_local stack_t too_small{};

bool is_off(const stack_t& stack) { return (stack.ss_flags & SS_DISABLE) != 0; }
bool has_room(const stack_t& stack) { return stack.ss_size >= signal_frame_bytes(); }

}  // namespace

int set_signal_stack(const stack_t* stack, stack_t* old,
                     int (*real)(const stack_t*, stack_t*) noexcept) {
  if (!stack) {
    const int result = real(nullptr, old);
    if (result == 0 && old && too_small.ss_size != 0 && is_off(*old)) *old = too_small;
    return result;
  }
  SamplingBlocked guard;  // until the kernel has forgotten a stack without room
  stack_t replaced{};
  // The kernel looks at the addresses first. `old` may be `stack`.
  const bool is_same = old == stack;
  const int result = real(stack, is_same ? &replaced : old);
  if (result != 0) return result;
  const stack_t given = *stack, before = too_small;
  if (is_same) *old = replaced;
  if (old && before.ss_size != 0 && is_off(*old)) *old = before;
  too_small = {};
  if (is_off(given)) {
    note_signal_stack(nullptr, 0);
  } else if (has_room(given)) {
    note_signal_stack(given.ss_sp, given.ss_size);
  } else {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    real(&none, nullptr);
    note_signal_stack(nullptr, 0);
    too_small = given;
    too_small.ss_flags &= static_cast<int>(kAutoDisarm);
  }
  return 0;
}

void learn_signal_stack() {
  stack_t now{};
  if (arch::kernel_call(SYS_sigaltstack, 0, reinterpret_cast<long>(&now)) != 0 || is_off(now)) {
    return;
  }
  note_signal_stack(now.ss_sp, now.ss_size);
}

}  // namespace fbleprof::capture
