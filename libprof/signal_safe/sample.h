// What a sampling signal does: charges the time since the thread's last sample to its live context.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// What a sampling signal tells.
enum class Sampled {
  kAll,         // it is the thread's only source of samples
  kUser,        // one period of the event is over, and the thread is in user mode
  kSystemCall,  // a tick of the kernel's, beside the event, met the thread in a system call
  kTick,        // a tick met it elsewhere
};

// Handler only, on the thread itself, the sampling signal blocked. Takes two clock readings; no
// lock, no allocation, bounded by kMaxFrames.
void charge_sample(ThreadState& thread, const MachineState& at, Sampled what);

// The same for a fatal signal, which may come while the thread's state is in the middle of a
// change, and on a stack that is no more: the shadow stack alone says where.
void charge_fatal(ThreadState& thread, const MachineState& at);

// What has passed since the last sample belongs to nobody we know: the shadow stack still holds
// what returned last, which may have taken no time at all. It goes to the context of the last
// sample; if there was none, to the root.
format::Ref context_of_rest(const ThreadState& thread);

// Charges it: at the end of a thread, of the process, of this program in it, and where the profile
// is to be complete in between. Sampling signal blocked.
void charge_rest(ThreadState& thread);

}  // namespace fbleprof::signal_safe
