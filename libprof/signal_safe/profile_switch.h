// A thread that records into another profile of the process for a while (fbleprof_profile_with).
//
// The other profile has a tree of its own for each thread. While the thread records into it, that
// tree stands in ThreadState::tree and its record in ThreadState::record, and the thread's former
// ones are kept here. An entry of the shadow stack that stands for the tree's root marks where this
// began: contexts below it are of the former tree. If that entry is dropped because the native
// function around it has ended, the thread goes back by itself.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Makes `profile` current. The caller holds the thread's guard and has `tree` and `record` ready;
// they are exchanged with the thread's. False: nested too deeply.
bool begin_profile(const BusyGuard&, ThreadState& thread, Entry* caller, void* profile,
                   CallTree* tree, format::Thread* record);

// Goes back to the profile before. `top`: the newest live entry; entries since then are dropped.
void end_profile(ThreadState& thread, Entry* top);

// Ends the profiles whose entry is above `top`, the newest entry that the address filter leaves.
inline bool has_lost_profile(const ThreadState& thread, const Entry* top) {
  if (thread.profiles == 0) return false;
  const ProfileFrame& frame = thread.profile_frames[thread.profiles - 1];
  return frame.stack == thread.current && top < frame.entry;
}
inline void settle_profiles(ThreadState& thread, Entry* top) {
  while (has_lost_profile(thread, top)) end_profile(thread, top);
}

}  // namespace fbleprof::signal_safe
