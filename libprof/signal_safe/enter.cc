// The slow path of the hooks, and the C API's calls that change the shadow stack.
//
// A hook comes here when its context and call site were not seen together before, when the top of
// the shadow stack may be stale, and in every unusual state (another stack, a forked child, a
// stopped profile). What it learns goes into the edge cache, if next time the same context and site
// must give the same answer: that is so when the entry taken for the caller is the one that the
// filter left on top.
#include "signal_safe/enter.h"

#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

using format::Edge;
using format::Ref;

Ref mark_hooked(Ref function) {
  if (function == 0) return 0;
  auto* record = session.arena.at<format::Function>(function);
  if (!(record->flags & format::kFunctionHooked)) {
    __atomic_fetch_or(&record->flags, format::kFunctionHooked, __ATOMIC_RELAXED);
  }
  return function;
}

// As hooks.S pushes it: the state at the hook's return.
struct HookState {
  std::uint64_t pc, sp, fp;
};

// Whether the direct call that returns to `site` names another function than the one entered: then
// that one tail-called it. Indirect calls name none.
bool reached_by_tail_call(ThreadState& thread, std::uint64_t site, Ref entered) {
  // Only code that we know to be there is read: a return address may be anything (coroutines begin
  // with one of 0), and generated code may stand at the edge of its mapping.
  const Ref caller = session.code_map.function_at(thread.functions, site - 1);
  if (caller == 0) return false;
  const auto* record = session.arena.at<format::Function>(caller);
  if (record->module == 0 || record->address > site - 5) return false;
  const auto* call = reinterpret_cast<const std::uint8_t*>(site - 5);
  if (call[0] != 0xe8) return false;
  std::int32_t distance;
  __builtin_memcpy(&distance, call + 1, sizeof distance);
  const std::uint64_t target = site + static_cast<std::int64_t>(distance);
  const Ref named = session.code_map.function_at(thread.functions, target);
  if (named == 0 || named == entered) return false;
  // A PLT stub stands for whatever it jumps to.
  return (session.arena.at<format::Function>(named)->flags & format::kFunctionHooked) != 0;
}

void fill(Slot* slot, const Slot& with) {
  // A signal's hook may meet the slot half written: it must not hit.
  slot->tag = 0;
  asm volatile("" ::: "memory");
  slot->callee = with.callee;
  slot->edge = with.edge;
  slot->to = with.to;
  asm volatile("" ::: "memory");
  slot->tag = with.tag;
}

// Into the slot that is looked at first; what was there moves to the other one of the pair.
void insert(Slot* cache, const Slot& call) {
  Slot* slot = slot_of(cache, call.tag, call.callee);
  const std::uint32_t emptied = session.caches_emptied.load(std::memory_order_acquire);
  const Slot before = *slot;
  if (before.tag != 0) {
    Slot* other = other_slot(slot);
    fill(other, before);
    // Emptied meanwhile by another thread, which may have passed this place already?
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (session.caches_emptied.load(std::memory_order_relaxed) != emptied) other->tag = 0;
  }
  fill(slot, call);
}

void remember(ThreadState& thread, Word context, std::uint64_t site, std::uint64_t callee,
              Edge* edge, Word to) {
  if ((!is_cacheable(context) && context != kRootGateWord) || site >> kWordShift != 0 ||
      edge->kind == format::EdgeKind::kTail) {
    return;
  }
  insert(thread.cache, {context ^ site, callee, edge, to});
}

void push(ThreadState& thread, Entry* below, Frame frame, Word word) {
  below[1].frame = frame;
  below[1].word = word;
  asm volatile("" ::: "memory");
  thread.hot->top = below + 1;
}

// True when the state is this process's own.
bool is_ours(ThreadState& thread) {
  if (thread.canary->alive) return true;
  auto adopt = [](void* state) -> long {
    session.adopt_forked_child(static_cast<ThreadState*>(state));
    return 0;
  };
  fbleprof_preserving_vectors(adopt, &thread);
  return fbleprof_hot.top != nullptr && fbleprof_hot.self->canary->alive;
}

// What remains on the shadow stack for a call from the frame whose return-address slot is just
// above ours.
Entry* filter(Entry* top, Frame frame, bool equal_is_alive) {
  while (top->frame < frame || (top->frame == frame && !equal_is_alive)) --top;
  return top;
}

}  // namespace

extern "C" void fbleprof_enter_slow(Entry*, Frame frame, std::uint64_t site, std::uint64_t callee,
                                    int hook, const HookState* at) {
  if (!is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard) {
    thread.record->lost_calls += 1;
    return;
  }
  if (!session.recording.load(std::memory_order_relaxed)) return;
  const bool is_api = hook == HOOK_API;
  if (is_api && callee == 0) return;
  Entry* top = filter(thread.hot->top, frame, hook == HOOK_CYG);
  if (!is_api) top = without_left_behind(thread, top);
  const Ref function =
      is_api ? session.function_of_block(static_cast<std::uint32_t>(callee))
             : mark_hooked(session.code_map.hooked_function_at(thread.functions, callee));
  Entry* caller = is_api             ? top
                  : hook == HOOK_CYG ? find_host(thread, top, frame, function, at->pc)
                                     : nullptr;
  const bool has_own_frame = caller == nullptr;
  if (!caller) caller = prove_caller(thread, top, frame, site, {at->pc, at->sp, at->fp});
  if (caller >= thread.hot->limit) {
    thread.record->deep_calls += 1;
    return;
  }
  const Ref from = node_of(thread, caller);
  std::uint8_t flags = 0;
  Edge* edge = function ? thread.tree.enter(from, function, is_api ? 0 : site, flags) : nullptr;
  if (!edge) {
    thread.record->lost_calls += 1;
    return;
  }
  if (edge->calls == 0) {
    // The first call by a hook on this edge, which a sample may have made before.
    edge->flags &= static_cast<std::uint8_t>(~format::kEdgeSampled);
    if (has_own_frame && reached_by_tail_call(thread, site, function)) {
      edge->flags |= format::kEdgeByTailCall;
    }
    thread.record->flags |= format::kThreadHooked;
  }
  edge->calls += 1;
  const Word word = thread.tree.word_of(edge->to);
  push(thread, caller, is_api ? caller->frame : frame, word);
  // Below the root's gate there is no caller to be proven, but perhaps another stack to be found.
  const bool one_stack = is_api || thread.signal_stack.gate == nullptr;
  const bool same_next_time =
      caller == top && (!is_gate(caller) || (caller->word == kRootGateWord && one_stack));
  if (same_next_time) remember(thread, caller->word, site, callee, edge, word);
}

// The exit hook of a function without an entry at the hook's frame or below. Either it has none at
// all (entered before the profile began, or when the shadow stack was full), or it was split, and
// this is its rest; `hook_return` is in it, or 0 if the rest tail-called the hook.
extern "C" void fbleprof_exit_slow(std::uint64_t callee, std::uint64_t hook_return) {
  if (!is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard || !session.recording.load(std::memory_order_relaxed)) return;
  Entry* top = thread.hot->top;
  const Ref function = session.code_map.hooked_function_at(thread.functions, callee);
  if (is_gate(top) || !is_entry_of(thread, top, function)) return;
  const bool is_rest =
      hook_return != 0 ? session.code_map.function_at(thread.functions, hook_return - 1) != function
                       : shares_frame_with_below(top);
  if (is_rest) thread.hot->top = top - 1;
}

// The block is not on top: a callee's entry lies above it, or there is no such entry.
extern "C" void fbleprof_leave_slow(Entry* top, std::uint32_t block) {
  if (!is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard || !session.recording.load(std::memory_order_relaxed)) return;
  const Ref function = session.function_of_block(block);
  // Blocks of one native frame may end out of order (an error that passed over some leaves).
  int steps = 0;
  for (Entry* entry = top; !is_gate(entry) && steps < kProofDepth; --entry, ++steps) {
    if (is_entry_of(thread, entry, function)) {
      thread.hot->top = entry - 1;
      return;
    }
    if (entry->frame != top->frame) break;
  }
  thread.record->unmatched += 1;
}

void replace_top(Frame frame, std::uint32_t block) {
  if (!fbleprof_hot.top || !is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard) {
    thread.record->lost_calls += 1;
    return;
  }
  if (!session.recording.load(std::memory_order_relaxed)) return;
  Entry* top = filter(thread.hot->top, frame, false);
  if (is_gate(top)) {
    thread.record->unmatched += 1;
    return;
  }
  // The cache answers here too: under a tag that no hook forms (the callee's top bit is set), with
  // the caller's context in the callee.
  const std::uint64_t callee = std::uint64_t{1} << 63 | (top[-1].word >> kWordShift) << 40 | block;
  const bool cacheable = is_cacheable(top->word) && (is_cacheable(top[-1].word));
  const std::uint64_t tag = top->word ^ block;
  if (const Slot* slot = cacheable ? find_slot(thread.cache, tag, callee) : nullptr) {
    slot->edge->calls += 1;
    push(thread, top - 1, top->frame, slot->to);
    return;
  }
  const Ref function = session.function_of_block(block);
  Edge* tail = function
                   ? thread.tree.replace(node_of(thread, top - 1), node_of(thread, top), function)
                   : nullptr;
  if (!tail) {
    thread.record->lost_calls += 1;
    return;
  }
  tail->calls += 1;
  const Word word = thread.tree.word_of(tail->to);
  if (cacheable) insert(thread.cache, {tag, callee, tail, word});
  push(thread, top - 1, top->frame, word);
}

void tick(Frame frame, std::uint64_t count) {
  if (!fbleprof_hot.top || !is_ours(*fbleprof_hot.self)) return;
  if (!session.recording.load(std::memory_order_relaxed)) return;
  ThreadState& thread = *fbleprof_hot.self;
  const Entry* top = filter(thread.hot->top, frame, false);
  session.arena.at<format::Node>(node_of(thread, top))->ticks += count;
}

}  // namespace fbleprof::signal_safe
