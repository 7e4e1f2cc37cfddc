#include "capture/own_signal_stack.h"

#include <atomic>

#include "arch/kernel.h"
#include "capture/signals.h"

namespace fbleprof::capture {

namespace {

// The calling thread's. Size 0: it has none.
[[gnu::tls_model("initial-exec")]] constinit thread_local stack_t ours{};

// Whether a thread that starts will have a split stack.
constinit std::atomic<bool> splits_stacks{false};

}  // namespace

long change_signal_stack(const stack_t* stack, stack_t* old) {
  return arch::kernel_call(SYS_sigaltstack, reinterpret_cast<long>(stack),
                           reinterpret_cast<long>(old));
}

stack_t own_signal_stack() { return ours.ss_size != 0 ? ours : kNoSignalStack; }
bool is_own_signal_stack(const stack_t& stack) {
  return ours.ss_size != 0 && stack.ss_sp == ours.ss_sp;
}

void provide_signal_stack(const signal_safe::ThreadState& thread) {
  const stack_t before = ours;  // of a parent, in a child
  ours = {};
  if (!arch::has_split_stack() && !splits_stacks.load(std::memory_order_relaxed)) return;
  if (!may_samples_come() || thread.sample_stack_end == nullptr) return;
  stack_t now{};
  if (change_signal_stack(nullptr, &now) != 0) return;
  ours.ss_size = signal_safe::kSampleStackBytes;
  ours.ss_sp = thread.sample_stack_end - ours.ss_size;
  const bool is_programs = !is_off(now) && !(before.ss_size != 0 && now.ss_sp == before.ss_sp);
  if (!is_programs && change_signal_stack(&ours, nullptr) != 0) ours = {};
}

bool withdraw_signal_stack() {
  if (ours.ss_size == 0) return true;
  stack_t now{};
  const bool is_ours = change_signal_stack(nullptr, &now) == 0 && is_own_signal_stack(now);
  if (is_ours && change_signal_stack(&kNoSignalStack, nullptr) != 0) return false;
  ours = {};
  return true;
}

void provide_signal_stack() {
  const auto* thread = fbleprof_hot.self;
  if (ours.ss_size == 0 && fbleprof_hot.top && thread->canary->alive) provide_signal_stack(*thread);
}

void note_split_stack() {
  if (arch::has_split_stack()) splits_stacks.store(true, std::memory_order_relaxed);
}

}  // namespace fbleprof::capture
