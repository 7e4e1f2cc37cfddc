#include "capture/own_signal_stack.h"

#include <ucontext.h>

#include <atomic>

#include "arch/kernel.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

namespace {

// The calling thread's. Size 0: it has none.
[[gnu::tls_model("initial-exec")]] constinit thread_local stack_t ours{};

// Whether a thread that starts will have a split stack.
constinit std::atomic<bool> splits_stacks{false};

bool are_allowed = false;

bool may_provide() {
  return are_allowed && !signal_safe::session.is_confined.load(std::memory_order_relaxed);
}

stack_t memory_of(const signal_safe::ThreadState& thread) {
  constexpr std::size_t kBytes = signal_safe::kSampleStackBytes;
  return thread.sample_stack_end ? stack_t{thread.sample_stack_end - kBytes, 0, kBytes} : stack_t{};
}

// Makes the calling thread's ready, if it is attached. False: it gets none.
bool has_own() {
  if (!fbleprof_hot.top || !fbleprof_hot.self->canary->alive || !may_provide()) return false;
  if (ours.ss_size == 0) ours = memory_of(*fbleprof_hot.self);
  return ours.ss_size != 0;
}

}  // namespace

long change_signal_stack(const stack_t* stack, stack_t* old) {
  return arch::kernel_call(SYS_sigaltstack, reinterpret_cast<long>(stack),
                           reinterpret_cast<long>(old));
}

stack_t own_signal_stack() { return ours.ss_size != 0 ? ours : kNoSignalStack; }
bool is_own_signal_stack(const stack_t& stack) {
  return ours.ss_size != 0 && stack.ss_sp == ours.ss_sp;
}

void allow_own_signal_stacks() { are_allowed = true; }

void provide_signal_stack(const signal_safe::ThreadState& thread) {
  const stack_t before = ours;  // of the parent, in a child
  const bool is_needed = arch::has_split_stack() || splits_stacks.load(std::memory_order_relaxed);
  ours = {};
  if (!is_needed || !may_provide()) return;
  stack_t now{};
  if (change_signal_stack(nullptr, &now) != 0) return;
  ours = memory_of(thread);
  const bool is_programs = !is_off(now) && !(before.ss_size != 0 && now.ss_sp == before.ss_sp);
  if (is_programs || ours.ss_size == 0) return;
  // A child that was forked on its parent's stays there.
  if (change_signal_stack(&ours, nullptr) != 0) ours = before;
}

bool withdraw_signal_stack() {
  if (ours.ss_size == 0) return true;
  stack_t now{};
  const bool is_ours = change_signal_stack(nullptr, &now) == 0 && is_own_signal_stack(now);
  if (is_ours && change_signal_stack(&kNoSignalStack, nullptr) != 0) return false;
  ours = {};
  return true;
}

// The kernel is asked each time: a handler that runs when the first piece is added has none again
// when it returns, and a child of vfork changes its own, but has our memory of it.
void provide_signal_stack() {
  stack_t now{};
  if (!has_own() || change_signal_stack(nullptr, &now) != 0 || !is_off(now)) return;
  if (change_signal_stack(&ours, nullptr) != 0) ours = {};
}

void provide_signal_stack_after(void* context) {
  stack_t& after = static_cast<ucontext_t*>(context)->uc_stack;
  if (is_off(after) && has_own()) after = ours;
}

void note_split_stack() {
  if (arch::has_split_stack()) splits_stacks.store(true, std::memory_order_relaxed);
}

}  // namespace fbleprof::capture
