#include "signal_safe/profile_switch.h"

namespace fbleprof::signal_safe {

bool begin_profile(const BusyGuard&, ThreadState& thread, Entry* caller, void* profile,
                   CallTree* tree, format::Thread* record) {
  if (thread.profiles == kMostProfiles) return false;
  if (caller >= thread.hot->limit && !make_room(thread)) return false;
  ProfileFrame& frame = thread.profile_frames[thread.profiles];
  frame.profile = thread.profile;
  frame.stack = thread.current;
  frame.entry = caller + 1;
  frame.its_tree = tree;
  frame.tree = thread.tree;
  frame.record = thread.record;
  thread.is_changing_profile = true;
  asm volatile("" ::: "memory");
  thread.kernel_time.forget_contexts();
  // Code that empties the edge caches reads this flag from a thread's current record.
  record->flags |= thread.record->flags & format::kThreadHooked;
  thread.tree = *tree;
  thread.record = record;
  thread.profile = profile;
  thread.profiles += 1;
  caller[1].frame = caller->frame;
  caller[1].word = word_of(thread.tree.root(), arch::kNoBlock);
  asm volatile("" ::: "memory");
  thread.hot->top = caller + 1;
  thread.current->tree = thread.tree.root();
  asm volatile("" ::: "memory");
  thread.is_changing_profile = false;
  return true;
}

void end_profile(ThreadState& thread, Entry* top) {
  ProfileFrame& frame = thread.profile_frames[thread.profiles - 1];
  thread.is_changing_profile = true;
  asm volatile("" ::: "memory");
  *frame.its_tree = thread.tree;
  if (frame.stack == thread.current) {
    if (top >= frame.entry) top = frame.entry - 1;
    thread.hot->top = top;
  }
  asm volatile("" ::: "memory");
  frame.record->flags |= thread.record->flags & format::kThreadHooked;
  thread.tree = frame.tree;
  thread.record = frame.record;
  thread.profile = frame.profile;
  thread.kernel_time.forget_contexts();
  thread.profiles -= 1;
  // A stack that is not current still has entries of the other tree.
  frame.stack->tree = frame.stack == thread.current ? thread.tree.root() : 0;
  asm volatile("" ::: "memory");
  thread.is_changing_profile = false;
}

}  // namespace fbleprof::signal_safe
