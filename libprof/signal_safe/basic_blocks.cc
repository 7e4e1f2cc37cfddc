// Virtual time from basic blocks: the hook that compilers call at each block
// (-fsanitize-coverage=trace-pc), through libfbleprof_blocks.a.
//
// A thread counts down to the end of a tick period. Only there is the context looked up: by the
// live rule or, in a program without hooks at function entries, by a walk of the stack. The same
// program with the same input runs the same blocks, so its profile is the same on every run.
//
// The hook is an ordinary call: the compiler saves the registers that it needs. The hook returns at
// once in a thread that is not recorded.
#include "arch/registers.h"
#include "signal_safe/context_at.h"
#include "signal_safe/entries.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

namespace {

// Blocks that this thread runs until its period ends; 0 before its first block.
__thread std::int64_t blocks_left;
// Periods that ended where the tree could not be changed. The next one charges them.
__thread std::uint64_t periods_owed;

// In a thread that is not profiled: the slow path is not called for a long time.
constexpr std::int64_t kNever = std::int64_t{1} << 62;

__attribute__((noinline)) void end_period(const arch::MachineState& block) {
  if (fbleprof_hot.top == nullptr && fbleprof_hot.self == nullptr && fbleprof_attach_lazily) {
    fbleprof_attach_slow();
  }
  if (fbleprof_hot.top == nullptr) {
    // The recorder is not ready yet, has finished, or does not record this thread.
    blocks_left = fbleprof_hot.self == nullptr ? 0 : kNever;
    return;
  }
  if (!is_own(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  const auto period = static_cast<std::int64_t>(thread.session->options.tick_period);
  if (blocks_left < 0) blocks_left += period;  // the thread's first block is the first of a period
  if (blocks_left > 0) return;
  blocks_left = period;
  if (!is_recording(*thread.session)) return;
  periods_owed += 1;
  BusyGuard guard(thread);
  if (!guard) return;
  const std::uint64_t ticks = periods_owed * static_cast<std::uint64_t>(period);
  periods_owed = 0;
  thread.tree.values(guard, context_at(guard, thread, block, Reached::kByReturn))[kTicks] += ticks;
}

}  // namespace

}  // namespace fbleprof::signal_safe

// Returns to the block: libfbleprof_blocks.a jumps to this function.
extern "C" __attribute__((visibility("default"))) void fbleprof_basic_block() {
  using namespace fbleprof::signal_safe;
  if (--blocks_left > 0) return;
  const auto* frame = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  end_period({.pc = frame[1], .sp = reinterpret_cast<std::uint64_t>(frame + 2), .fp = frame[0]});
}
