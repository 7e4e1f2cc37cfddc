#include "signal_safe/little_room.h"

#include <signal.h>

#include "arch/call_on.h"
#include "arch/kernel.h"
#include "signal_safe/peek.h"

namespace fbleprof::signal_safe {

namespace {

using arch::kernel_call;

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }
constexpr std::uint64_t kAllButFaults = ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGILL) |
                                          bit_of(SIGFPE) | bit_of(SIGTRAP) | bit_of(SIGSYS));

std::uint64_t set_mask(std::uint64_t mask) {
  std::uint64_t before = 0;
  kernel_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask),
              reinterpret_cast<long>(&before), sizeof mask);
  return before;
}

struct Elsewhere {
  void (*work)(void*);
  void* argument;
  bool is_done;
};

// The kernel takes a signal stack that is left for unused, and would give it to the handler of a
// fault. So there is none meanwhile.
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

void call_elsewhere(ThreadState& thread, void (*work)(void*), void* argument) {
  if (thread.sample_stack_end == nullptr || are_calls_forbidden()) return work(argument);
  Elsewhere elsewhere{work, argument, false};
  const std::uint64_t mask = set_mask(kAllButFaults);
  fbleprof_call_on(thread.sample_stack_end, without_signal_stack, &elsewhere);
  set_mask(mask);
  if (!elsewhere.is_done) work(argument);
}

}  // namespace fbleprof::signal_safe
