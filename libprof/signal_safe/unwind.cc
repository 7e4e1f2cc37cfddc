#include "signal_safe/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {
// What the unwinder may need of the stack below the handler when it meets a frame for the first
// time: measured 5 KiB, with room.
constexpr std::uint64_t kUnwinderStackBytes = 12 * 1024;
// Our own frames and the signal trampoline, above the interrupted one.
constexpr int kOwnFrames = 8;
}  // namespace

int unwind(ThreadState& thread, const Interrupted& at, int most) {
  const std::uint64_t here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const Stack& main = thread.main_stack;
  const Stack& alternate = thread.signal_stack;
  const Stack* handler_runs_on = main.contains(here)        ? &main
                                 : alternate.contains(here) ? &alternate
                                                            : nullptr;
  if (handler_runs_on && here - handler_runs_on->low < kUnwinderStackBytes) return 0;
  // Garbage in the stack pointer is not followed. Stacks whose bounds nobody told us are.
  if (at.sp < 4096 || at.sp % 4 != 0 || at.sp >> kWordShift != 0) return 0;
  if (most > kMaxFrames - kOwnFrames) most = kMaxFrames - kOwnFrames;
  thread.unwinding = true;
  const int count = unw_backtrace(thread.frames, most + kOwnFrames);
  thread.unwinding = false;
  for (int own = 0; own < count && own < kOwnFrames; ++own) {
    if (reinterpret_cast<std::uint64_t>(thread.frames[own]) != at.pc) continue;
    for (int i = own; i < count; ++i) thread.frames[i - own] = thread.frames[i];
    return count - own < most ? count - own : most;
  }
  return 0;
}

void warm_up_unwinder(ThreadState& thread) { unw_backtrace(thread.frames, 4); }

}  // namespace fbleprof::signal_safe
