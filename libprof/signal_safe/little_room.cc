#include "signal_safe/little_room.h"

#include "arch/call_on.h"
#include "arch/kernel.h"

namespace fbleprof::signal_safe {

namespace {

using arch::kernel_call;

std::uint64_t change_mask(int how, std::uint64_t mask) {
  std::uint64_t before = 0;
  kernel_call(SYS_rt_sigprocmask, how, reinterpret_cast<long>(&mask),
              reinterpret_cast<long>(&before), sizeof mask);
  return before;
}

struct Elsewhere {
  void (*work)(void*);
  void* argument;
  bool is_done;
};

void without_signal_stack(void* argument) {
  auto* elsewhere = static_cast<Elsewhere*>(argument);
  stack_t none{}, programs{};
  none.ss_flags = SS_DISABLE;
  if (kernel_call(SYS_sigaltstack, reinterpret_cast<long>(&none),
                  reinterpret_cast<long>(&programs)) != 0) {
    return;
  }
  elsewhere->work(elsewhere->argument);
  kernel_call(SYS_sigaltstack, reinterpret_cast<long>(&programs), 0);
  elsewhere->is_done = true;
}

}  // namespace

bool call_off_signal_stack(char* stack_end, void (*work)(void*), void* argument) {
  Elsewhere elsewhere{work, argument, false};
  fbleprof_call_on(stack_end, without_signal_stack, &elsewhere);
  return elsewhere.is_done;
}

void call_elsewhere(ThreadState& thread, void (*work)(void*), void* argument) {
  if (thread.sample_stack_end == nullptr ||
      thread.session->is_confined.load(std::memory_order_relaxed)) {
    return work(argument);
  }
  // Faults that are blocked stay so: their handler may run now, and have raised one for later.
  const std::uint64_t mask = change_mask(SIG_BLOCK, kAllButFaults);
  const bool is_done = call_off_signal_stack(thread.sample_stack_end, work, argument);
  change_mask(SIG_SETMASK, mask);
  if (!is_done) work(argument);
}

}  // namespace fbleprof::signal_safe
