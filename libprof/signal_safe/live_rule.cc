#include "signal_safe/live_rule.h"

#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {


bool is_function(const ThreadState& thread, const Entry* entry, format::Ref function) {
  return session.arena.at<format::Node>(node_of(thread, entry))->function == function;
}

}  // namespace

Entry* find_owner(const ThreadState& thread, Entry* top, format::Ref owner) {
  if (owner == 0) return nullptr;
  if (!(session.arena.at<format::Function>(owner)->flags & format::kFunctionHooked)) return nullptr;
  Entry* newest_of_frame = top;
  int steps = 0;
  for (Entry* entry = top; !is_gate(entry) && steps < kProofDepth; --entry, ++steps) {
    if (entry->frame != newest_of_frame->frame) newest_of_frame = entry;
    if (is_function(thread, entry, owner)) return newest_of_frame;
  }
  return nullptr;
}

bool switch_stack(ThreadState& thread, std::uint64_t address) {
  if (thread.current->contains(address)) return false;
  Stack* other = thread.current == &thread.main_stack ? &thread.signal_stack : &thread.main_stack;
  if (!other->contains(address) || other->gate == nullptr) return false;
  thread.current->saved_top = thread.hot->top;
  if (other == &thread.signal_stack) {
    // A handler's first function: a child of what the signal interrupted.
    other->base = node_of(thread, thread.hot->top);
    other->saved_top = other->gate;
  }
  thread.current = other;
  thread.hot->top = other->saved_top;
  thread.hot->limit = other->limit;
  return true;
}

Entry* prove_caller(ThreadState& thread, Entry* top, Frame frame, std::uint64_t site) {
  if (!is_gate(top)) {
    const format::Ref owner = session.code_map.function_at(thread.functions, site - 1);
    // The function whose code the top entry runs: its own, or that of the frame it shares.
    const Entry* native = top;
    while (shares_frame_with_below(native)) --native;
    if (is_gate(native) || is_function(thread, native, owner) ||
        is_function(thread, top, owner)) {
      return top;
    }
    if (Entry* found = find_owner(thread, top, owner)) return found;
    if (thread.current->contains(frame + FRAME_BIAS)) return top;
  } else if (thread.current->contains(frame + FRAME_BIAS)) {
    return top;
  }
  if (!switch_stack(thread, frame + FRAME_BIAS)) return top;
  Entry* entry = thread.hot->top;
  while (entry->frame <= frame) --entry;
  return is_gate(entry) ? entry : prove_caller(thread, entry, frame, site);
}

}  // namespace fbleprof::signal_safe
