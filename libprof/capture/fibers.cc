#include "capture/fibers.h"

#include <atomic>

#include "capture/api.h"
#include "capture/green_threads.h"
#include "signal_safe/entries.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::capture {

namespace {

// Machine stacks by their lowest address. Open addressing. Entries stay, because the next stack
// mostly reuses a stack's memory. When the table is full, further stacks share the thread's own
// shadow stack.
struct Fiber {
  std::atomic<std::uint64_t> low;
  std::atomic<fbleprof_context*> context;
};
constexpr std::uint32_t kFibers = 1u << 16;
Fiber fibers[kFibers];

// A call of swapcontext or setcontext.
struct Call {
  signal_safe::Frame frame;
  const signal_safe::HookState& at;
};

// The context from which the program switches to a stack for the first time: the caller's. Above
// its entry there may be those of functions that it has called before.
format::Ref context_of(const Call& call) {
  signal_safe::ThreadState& thread = *fbleprof_hot.self;
  const signal_safe::Entry* caller = fbleprof_hot.top;
  {
    signal_safe::BusyGuard guard(thread);
    if (guard) caller = signal_safe::caller_of_api(thread, call.frame, call.at);
  }
  return signal_safe::node_of(thread, caller);
}

fbleprof_context* context_on(std::uint64_t low, std::uint64_t bytes, const Call& call) {
  std::uint32_t i = static_cast<std::uint32_t>(low * 0x9e3779b97f4a7c15u >> 48);
  for (std::uint32_t probes = 0; probes < 64; ++probes, i = (i + 1) % kFibers) {
    std::uint64_t found = fibers[i].low.load(std::memory_order_acquire);
    if (found == 0 && fibers[i].low.compare_exchange_strong(found, low)) {
      // Return addresses take 8 bytes each, which limits the number of live entries.
      fbleprof_context* made = make_context(bytes / 8, context_of(call));
      if (made) bind_to_machine_stack(made, low, bytes);
      fibers[i].context.store(made, std::memory_order_release);
      return made;
    }
    if (found == low) {
      fbleprof_context* context = fibers[i].context.load(std::memory_order_acquire);
      if (!context || bound_bytes(context) == bytes) return context;
      if (bind_anew(context, bytes, context_of(call))) return context;
      // The context is too small. Keep it all the same: another thread may still read it.
      fbleprof_context* made = make_context(bytes / 8, context_of(call));
      if (made) bind_to_machine_stack(made, low, bytes);
      fibers[i].context.store(made, std::memory_order_release);
      return made;
    }
  }
  return nullptr;
}

// Whether makecontext made the context, and it has not run yet: its stack pointer is that of the
// function to be called, with nothing above but arguments.
bool is_at_start(std::uint64_t sp, std::uint64_t high) {
  constexpr std::uint64_t kMostArgumentBytes = 1024;
  return arch::is_of_first_instruction(sp) && high - sp <= kMostArgumentBytes;
}

}  // namespace

void note_switch(const ucontext_t* to, signal_safe::Frame frame, const signal_safe::HookState& at) {
  if (!fbleprof_hot.top || !signal_safe::is_own(*fbleprof_hot.self)) return;
  const Call call{frame, at};
  const std::uint64_t sp = arch::state_of(to).sp;
  const auto low = reinterpret_cast<std::uint64_t>(to->uc_stack.ss_sp);
  const std::uint64_t bytes = to->uc_stack.ss_size;
  // A context from getcontext has no stack of its own in uc_stack: it runs on the thread's.
  if (low != 0 && sp >= low && sp <= low + bytes) {
    fbleprof_context* context = context_on(low, bytes, call);
    if (context && fbleprof_hot.self->context != context) {
      if (is_at_start(sp, low + bytes)) {
        begin_anew(context, context_of(call));
      } else {
        drop_below(context, sp);
      }
    }
    fbleprof_context_switch(context);
  } else {
    fbleprof_context_switch(nullptr);
  }
}

}  // namespace fbleprof::capture
