// The C API's readers of runtimes' stacks: see fbleprof/fbleprof.h, signal_safe/runtime_stack.h.
#include "capture/api.h"
#include "capture/fatal_signals.h"
#include "capture/profile.h"
#include "signal_safe/enter.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"
#include "signal_safe/stack_walk.h"
#include "signal_safe/thread_state.h"
#include "signal_safe/unwind_table.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using signal_safe::RuntimeFrame;
using signal_safe::session;

static_assert(sizeof(fbleprof_frame) == sizeof(RuntimeFrame));
static_assert(offsetof(fbleprof_frame, block) == offsetof(RuntimeFrame, block));
static_assert(offsetof(fbleprof_frame, mark) == offsetof(RuntimeFrame, mark));
static_assert(FBLEPROF_IN_LOOP == signal_safe::kInLoop);
static_assert(offsetof(fbleprof_frame, value) == offsetof(RuntimeFrame, value));

int fbleprof_read_stack(const void* loop, int (*reader)(void*, fbleprof_frame*)) {
  if (!capture::is_profiling()) return -1;
  capture::catch_faults_of_peeks();
  const auto read = reinterpret_cast<signal_safe::ReadRuntimeFrame>(reader);
  return session.runtimes.add(loop, read) ? 0 : -1;
}

int fbleprof_callers(const void** functions, int most) {
  if (!fbleprof_hot.top) return 0;
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  signal_safe::StackWalk walk(*fbleprof_hot.self, {at.pc, at.sp, at.fp}, true);
  int found = 0;
  while (found < most) {
    const std::uint64_t start = signal_safe::code_range_at(walk.code_address()).start;
    functions[found++] = reinterpret_cast<const void*>(start);
    if (!walk.next()) break;
  }
  return found;
}

const std::uint64_t* fbleprof_interrupted_registers(void) {
  return fbleprof_hot.top ? fbleprof_hot.self->interrupted_registers : nullptr;
}

int fbleprof_peek(const void* from, void* to, size_t bytes) {
  return signal_safe::peek(from, to, bytes) ? 1 : 0;
}
