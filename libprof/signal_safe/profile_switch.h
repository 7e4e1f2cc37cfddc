// A thread that records into another profile of the process for a while (fbleprof_profile_with).
//
// The other profile has its own tree for each thread. While the thread records into it, that tree
// is in ThreadState::tree and its record in ThreadState::record, and the thread's former ones are
// kept here. An entry of the shadow stack that stands for the tree's root marks the beginning:
// contexts below the entry are of the former tree. If that entry is dropped because the native
// function around it has ended, the thread returns to the former profile by itself.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Makes `profile` current. The caller holds the thread's guard and has `tree` and `record` ready;
// they are exchanged with the thread's. False: profiles are nested too deeply.
bool begin_profile(const BusyGuard&, ThreadState& thread, Entry* caller, void* profile,
                   CallTree* tree, format::Thread* record);

// Returns to the previous profile. `top`: the newest live entry; newer entries are dropped.
void end_profile(ThreadState& thread, Entry* top);

// Whether profiles must end because their entry is above `top`, the newest entry that the address
// filter leaves.
inline bool has_lost_profile(const ThreadState& thread, const Entry* top) {
  if (thread.profiles == 0) return false;
  const ProfileFrame& frame = thread.profile_frames[thread.profiles - 1];
  return frame.stack == thread.current && top < frame.entry;
}
inline void settle_profiles(ThreadState& thread, Entry* top) {
  while (has_lost_profile(thread, top)) end_profile(thread, top);
}

}  // namespace fbleprof::signal_safe
