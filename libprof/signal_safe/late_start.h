// Threads that were running when recording began: their shadow stacks miss the functions that were
// entered before.
//
// At such a thread's first hook the machine stack is walked once, and each frame gets the entry
// that its hook would have pushed. Its context is the one that samples find (context_at), so the
// call stands below the sampled path of its callers. If the walk does not find all frames (it is
// cut short, or functions of scripts stand between them), only the nearest one gets an entry.
//
// Blocks that were entered while recording was off have entries already, in the frame of an older
// function. They stay there, below the found ones: they are left wherever they are, and marks of
// the C API are positions in the stack.
//
// The thread itself, in a hook; no lock; bounded as context_at.
#pragma once

#include "signal_safe/enter.h"
#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Forgets the entries of a thread that is behind, if they may be old.
void drop_old_entries(const BusyGuard&, ThreadState& thread);

// At the first hook of a thread that is behind. The arguments are those of fbleprof_enter_slow.
void catch_up(const BusyGuard& guard, ThreadState& thread, std::uint64_t callee, int hook,
              const HookState& at);

// Lets the thread's calls be found in its cache again. After a late start none are, so that the
// first hook comes here.
void let_hooks_hit(ThreadState& thread);

}  // namespace fbleprof::signal_safe
