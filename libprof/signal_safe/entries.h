// The operations on entries that all paths that change the shadow stack share.
#pragma once

#include "signal_safe/enter.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

// The word of a node that `tree` holds.
inline Word word_in(const CallTree& tree, format::Ref node) {
  return word_of(node, tree.block_of(node));
}

// The entry is written before the top: an interrupting handler sees only whole entries.
inline void push(ThreadState& thread, Entry* below, Frame frame, Word word) {
  below[1].frame = frame;
  below[1].word = word;
  asm volatile("" ::: "memory");
  thread.hot->top = below + 1;
}

// The newest entry that is live, by address, for a call at `frame`.
inline Entry* filter(Entry* top, Frame frame, bool equal_is_alive) {
  while (top->frame < frame || (top->frame == frame && !equal_is_alive)) --top;
  return top;
}

// Gives a forked child that was not noticed its own profile. True: the calling thread is recorded
// there.
bool adopt_forked_child(ThreadState& thread);

// Whether the state belongs to this process, not to its parent. If that is true only after the
// child was adopted, `thread` is not the calling thread's state any more.
inline bool is_own(ThreadState& thread) {
  return thread.canary->alive || adopt_forked_child(thread);
}

}  // namespace fbleprof::signal_safe
