// Unwinding from the signal handler, by libunwind.
//
// libunwind looks objects up by dl_iterate_phdr, which takes the loader's lock: a deadlock when the
// sample interrupted dlopen or a throw. The library defines dl_iterate_phdr itself (preload/): while
// `thread.unwinding` is set it answers for the one object that _dl_find_object names.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// The machine state that a signal interrupted.
struct Interrupted {
  std::uint64_t pc = 0, sp = 0, fp = 0;
};

// Return addresses into thread.frames: [0] is the interrupted pc, then its callers, `most` at the
// most (and kMaxFrames). The number of frames; 0 when the stack cannot be walked (too little of it
// is left for the unwinder, or the stack pointer is none). Handler only.
int unwind(ThreadState& thread, const Interrupted& at, int most);

// Has the unwinder set up what it needs for this thread, outside of any handler.
void warm_up_unwinder(ThreadState& thread);

}  // namespace fbleprof::signal_safe
