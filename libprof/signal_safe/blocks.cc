#include "signal_safe/blocks.h"

#include "format/site.h"
#include "signal_safe/context_at.h"
#include "signal_safe/edge_cache.h"
#include "signal_safe/entries.h"
#include "signal_safe/late_start.h"
#include "signal_safe/little_room.h"
#include "signal_safe/profile_switch.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// The word of a block whose context is `node`. A left-out block has its caller's context, and its
// own number, by which it is left.
Word word_of_block(const ThreadState& thread, Ref node, Ref block) {
  const CodeMap& code = thread.session->code_map;
  if (!code.is_left_out(block)) return word_in(thread.tree, node);
  const auto* record = thread.session->arena.at<format::Function>(block);
  return word_of(node, static_cast<std::uint32_t>(record->address));
}

bool is_block(const Entry* entry) { return arch::block_of(entry->word) != arch::kNoBlock; }

// A full stack ends with one more entry, for the blocks that had no room. The extra entry has the
// context of the entry below it, and Stack::beyond counts the blocks. So leaves stay in step with
// enters.
bool is_beyond(const ThreadState& thread, const Entry* top) { return top > thread.hot->limit; }

void enter_beyond(ThreadState& thread, Entry* top) {
  thread.record->deep_calls += 1;
  if (is_beyond(thread, top)) {
    thread.current->beyond += 1;
    return;
  }
  thread.current->beyond = 1;
  push(thread, top, top->frame, word_of(node_of(thread, top), arch::kNoBlock));
}

void leave_beyond(ThreadState& thread, Entry* top) {
  if (--thread.current->beyond == 0) thread.hot->top = top - 1;
}

// Where the blocks of the current profile begin: the gate, or the profile's own first entry.
const Entry* floor_of(const ThreadState& thread) {
  if (thread.profiles == 0) return thread.current->gate;
  const ProfileFrame& frame = thread.profile_frames[thread.profiles - 1];
  return frame.stack == thread.current ? frame.entry : thread.current->gate;
}

// The newest block from `top` down; the floor if there is none.
Entry* newest_block(const ThreadState& thread, Entry* top) {
  const Entry* floor = floor_of(thread);
  while (top > floor && !is_block(top)) --top;
  return top;
}

// Ends the blocks from `oldest` to `newest`. Entries above, of native functions, move down.
void remove_blocks(ThreadState& thread, Entry* oldest, const Entry* newest, const Entry* top) {
  Entry* to = oldest;
  for (const Entry* entry = newest + 1; entry <= top; ++entry) *to++ = *entry;
  asm volatile("" ::: "memory");
  thread.hot->top = to - 1;
}

// The entry of the native function in whose frame the blocks of `top` are; the gate if there is
// none. A search, because recursion can make many blocks.
const Entry* native_of(const ThreadState& thread, Entry* top) {
  if (top->frame == kNoFrame) return thread.current->gate;
  return filter_by_address(thread.current->gate, top, top->frame + FRAME_BIAS + 1) + 1;
}

// The entry to which a call of the API is charged, and whether the same context and site give the
// same answer next time. They do not if the site is in code without hooks that a native function
// with hooks has called: other functions may call that code too.
struct Proof {
  Entry* caller;
  bool lasts;
  const HookState* at;  // the state at the call's return
};

Proof prove(ThreadState& thread, Frame frame, const HookState& at) {
  follow_top(thread);
  Entry* top = filter(thread.hot->top, frame, false);
  if (thread.profiles != 0) settle_profiles(thread, top);
  if (is_beyond(thread, top)) return {top, false, &at};
  const Entry* native = native_of(thread, top);
  if (is_gate(native) && (!is_gate(top) || thread.current->contains(frame + FRAME_BIAS))) {
    // Only blocks: their leaves are the only thing that ends them.
    return {top, is_cacheable(top->word), &at};
  }
  Entry* caller = prove_caller(thread, top, frame, at.pc, {at.pc, at.sp, at.fp});
  const Ref owner = thread.session->code_map.function_at(at.pc - 1);
  return {caller, caller == top && !is_gate(native) && is_entry_of(thread, native, owner), &at};
}

// A line of the file in which the caller is defined, as a site of the tree.
std::uint64_t site_of_place(const ThreadState& thread, const Entry* caller, std::uint32_t line) {
  const Ref function = thread.tree.function_of(node_of(thread, caller));
  const Ref file = thread.session->arena.at<format::Function>(function)->file;
  return format::kSiteIsPlace | std::uint64_t{file} << format::kPlaceLineBits |
         (line & ((1u << format::kPlaceLineBits) - 1));
}

enum class Counted : bool { kNo, kYes };

// Enters a block in the context of `caller`. `callee` is the key of this kind of call in the cache.
void enter_block(const BusyGuard& guard, ThreadState& thread, Proof proof, std::uint32_t block,
                 std::uint32_t place, std::uint64_t site, std::uint64_t callee, Counted counted) {
  Entry* caller = proof.caller;
  if (caller >= thread.hot->limit && !make_room(thread)) return enter_beyond(thread, caller);
  const Ref function = thread.session->function_of_block(block);
  const std::uint64_t from = place != 0 ? site_of_place(thread, caller, place) : 0;
  const std::uint8_t flags = counted == Counted::kYes ? 0 : format::kEdgeSampled;
  const Step step = function != 0
                        ? thread.tree.enter(guard, node_of(thread, caller), function, from, flags)
                        : Step{};
  if (!step) {
    thread.record->lost_calls += 1;
    return;
  }
  if (*step.calls == 0 || thread.session->code_map.is_left_out(function)) {
    mark_entering_functions(thread, {proof.at->pc, proof.at->sp, proof.at->fp});
  }
  std::uint64_t* calls = &thread.uncounted;
  if (counted == Counted::kYes) {
    calls = step.calls;
    if (*calls == 0) *step.flags &= static_cast<std::uint8_t>(~format::kEdgeSampled);
  }
  thread.record->flags |= format::kThreadHooked;
  *calls += 1;
  const Word word = word_of_block(thread, step.to, function);
  push(thread, caller, caller->frame, word);
  if (proof.lasts && *calls > 1) remember_call(thread, caller->word, site, callee, calls, word);
}

// The calling thread, if it has a shadow stack.
ThreadState* own_thread() {
  if (!fbleprof_hot.top || !is_own(*fbleprof_hot.self)) return nullptr;
  return fbleprof_hot.self;
}

bool records(ThreadState& thread) {
  if (!is_recording(*thread.session)) return false;
  if (thread.hot->cache != thread.cache.slots) let_hooks_hit(thread);
  return true;
}

// The calling thread, if it is recorded.
ThreadState* recorded_thread() {
  ThreadState* thread = own_thread();
  return thread && records(*thread) ? thread : nullptr;
}

// Calls change(guard, thread, is_recorded) if the calling thread may change its state; else counts
// `lost` calls as lost, if it is recorded. Blocks come and go while recording is off, too, so that
// the stack is the program's when it is on again; only nothing is counted.
template <class Change>
inline void change_state(std::uint64_t lost, Change change) {
  ThreadState* thread = own_thread();
  if (!thread) return;
  const bool is_recorded = records(*thread);
  BusyGuard guard(*thread);
  if (!guard) {
    if (is_recorded) thread->record->lost_calls += lost;
    return;
  }
  call_with_room(*thread, [&] { change(guard, *thread, is_recorded); });
}

// Whether the frame is on the stack whose entries are on top. Where nothing is recorded, a handler
// on a signal stack does not make that the current one, and what it enters is ignored.
bool is_on_current(ThreadState& thread, Frame frame) {
  follow_top(thread);
  return thread.current->contains(frame + FRAME_BIAS);
}

// While recording is off, a block has no context of its own, as one that is left out.
void enter_unrecorded(ThreadState& thread, Frame frame, std::uint32_t block) {
  if (thread.session->function_of_block(block) == 0 || !is_on_current(thread, frame)) return;
  Entry* top = filter(thread.hot->top, frame, false);
  if (thread.profiles != 0) settle_profiles(thread, top);
  if (is_beyond(thread, top)) {
    thread.current->beyond += 1;
  } else if (top >= thread.hot->limit && !make_room(thread)) {
    thread.current->beyond = 1;
    push(thread, top, top->frame, word_of(node_of(thread, top), arch::kNoBlock));
  } else {
    push(thread, top, top->frame, word_of(node_of(thread, top), block));
  }
}

// As fbleprof_enter, for the calls that are not in assembly.
void enter_as(Frame frame, const HookState& at, std::uint32_t block, std::uint32_t place,
              std::uint64_t callee, Counted counted) {
  if (block == 0) return;
  change_state(1, [&](const BusyGuard& guard, ThreadState& thread, bool is_recorded) {
    if (!is_recorded) return enter_unrecorded(thread, frame, block);
    Entry* top = filter(thread.hot->top, frame, false);
    const Slot* slot = find_slot(thread.cache, top->word, top->word ^ at.pc, callee);
    if (slot && top < thread.hot->limit) {
      *slot->calls += 1;
      return push(thread, top, top->frame, slot->to);
    }
    enter_block(guard, thread, prove(thread, frame, at), block, place, at.pc, callee, counted);
  });
}

// The newest block is not on top, or is another one.
__attribute__((noinline)) void leave_slow(Entry* top, std::uint32_t block, bool any) {
  if (block == 0 && !any) return;
  change_state(0, [&](const BusyGuard&, ThreadState& thread, bool is_recorded) {
    if (is_beyond(thread, top)) return leave_beyond(thread, top);
    Entry* newest = newest_block(thread, top);
    const Entry* floor = floor_of(thread);
    // If an error skipped some leaves, blocks of the same native function lie above.
    for (Entry* entry = newest; entry > floor && entry->frame == newest->frame; --entry) {
      if (!is_block(entry) || (!any && arch::block_of(entry->word) != block)) continue;
      return remove_blocks(thread, entry, newest, top);
    }
    if (is_recorded) thread.record->unmatched += 1;
  });
}

// The key of a replacement in the cache, in the context of the newest block and its caller. No call
// has the site 0.
struct Replacement {
  std::uint64_t tag, callee;
};

Replacement replacement_of(const ThreadState& thread, const Entry* newest, std::uint32_t block,
                           bool below) {
  if (below) return {newest->word, callee_of_block(block)};
  return {newest->word ^ block, callee_of_tail_call(node_of(thread, newest - 1), block)};
}

// Replaces the newest block if the cache knows the replacement. As in the hooks, a hit is a proof:
// while recording is stopped and in a forked child, the cache is empty.
bool replace_known(Entry* top, std::uint32_t block, bool below) {
  const ThreadState& thread = *fbleprof_hot.self;
  if (!is_block(top) || thread.profiles != 0) return false;
  if (!below && !is_cacheable(top[-1].word)) return false;
  const auto [tag, callee] = replacement_of(thread, top, block, below);
  const Slot* slot =
      find_slot({fbleprof_hot.cache, fbleprof_hot.cache_mask}, top->word, tag, callee);
  if (!slot) return false;
  *slot->calls += 1;
  top->word = slot->to;
  return true;
}

// Puts `block` in the place of `newest`. The cache need not know the replacement.
void replace_block(const BusyGuard& guard, ThreadState& thread, Entry* newest, std::uint32_t block,
                   bool below) {
  const Ref caller = node_of(thread, newest - 1), replaced = node_of(thread, newest);
  const bool cacheable = below || is_cacheable(newest[-1].word);
  const auto [tag, callee] = replacement_of(thread, newest, block, below);
  if (const Slot* slot = cacheable ? find_slot(thread.cache, newest->word, tag, callee) : nullptr) {
    *slot->calls += 1;
    newest->word = slot->to;
    return;
  }
  const Ref function = thread.session->function_of_block(block);
  Step step;
  if (function != 0) {
    const bool is_plain = below || has_callers_context(thread, newest);
    step = is_plain ? thread.tree.enter(guard, below ? replaced : caller, function, 0, 0)
                    : thread.tree.replace(guard, caller, replaced, function);
  }
  if (!step) {
    thread.record->lost_calls += 1;
    return;
  }
  if (*step.calls == 0) *step.flags &= static_cast<std::uint8_t>(~format::kEdgeSampled);
  *step.calls += 1;
  const Word word = word_of_block(thread, step.to, function);
  if (cacheable) insert_slot(thread, newest->word, {tag, callee, step.calls, word});
  newest->word = word;
}

// Puts `block` in the place of the newest one. `below`: as its child, else as its sibling.
void replace_newest(Frame frame, std::uint32_t block, bool below) {
  if (!fbleprof_hot.top) return;
  if (replace_known(filter(fbleprof_hot.top, frame, false), block, below)) return;
  if (block == 0) return;
  change_state(1, [&](const BusyGuard& guard, ThreadState& thread, bool is_recorded) {
    if (!is_recorded && !is_on_current(thread, frame)) return;
    Entry* top = filter(thread.hot->top, frame, false);
    if (is_beyond(thread, top)) {
      if (is_recorded) thread.record->deep_calls += 1;
      return;
    }
    Entry* newest = newest_block(thread, top);
    if (newest <= floor_of(thread)) {
      if (is_recorded) thread.record->unmatched += 1;
      return;
    }
    if (!is_recorded) {
      if (thread.session->function_of_block(block) == 0) return;
      newest->word = word_of(node_of(thread, below ? newest : newest - 1), block);
      return;
    }
    replace_block(guard, thread, newest, block, below);
  });
}

// The entry to whose context ticks belong. For a block that is certain; for a native function, the
// code that called us must be its own.
const Entry* live_for_ticks(ThreadState& thread, Frame frame, const HookState& at) {
  Entry* top = filter(thread.hot->top, frame, false);
  if (is_gate(top) || is_block(top) ||
      is_entry_of(thread, top, thread.session->code_map.known_function_at(at.pc - 1))) {
    return top;
  }
  BusyGuard guard(thread);
  return guard ? prove(thread, frame, at).caller : top;
}

// The counter of ticks of the block on top, if the block already has one.
inline std::uint64_t* known_tick_counter(const ThreadState& thread, const Entry* top) {
  if (!is_block(top)) return nullptr;
  const Ref node = node_of_word(top->word);
  if (thread.tree.node_at(node)->values == 0) return nullptr;
  return &thread.tree.values_or_root(node)[kTicks];
}

// The counter of ticks of a context; the root's if there is no space for its own.
std::uint64_t* tick_counter(ThreadState& thread, Ref node) {
  if (thread.tree.node_at(node)->values == 0) {
    BusyGuard guard(thread);
    if (guard) thread.tree.values(guard, node);
  }
  return &thread.tree.values_or_root(node)[kTicks];
}

}  // namespace

Entry* caller_of_api(ThreadState& thread, Frame frame, const HookState& at) {
  return prove(thread, frame, at).caller;
}

// From hooks.S: the call is not in the cache. The upper bits of `block` are those of the callee.
extern "C" __attribute__((visibility("hidden"))) void fbleprof_enter_block_slow(
    Frame frame, std::uint32_t block, const HookState* at) {
  block &= arch::kNoBlock;
  if (block == 0) return;
  change_state(1, [&](const BusyGuard& guard, ThreadState& thread, bool is_recorded) {
    if (!is_recorded) return enter_unrecorded(thread, frame, block);
    enter_block(guard, thread, prove(thread, frame, *at), block, 0, at->pc, callee_of_block(block),
                Counted::kYes);
  });
}

// From hooks.S: the block is not on top.
extern "C" __attribute__((visibility("hidden"))) void fbleprof_leave_slow(Entry* top,
                                                                          std::uint32_t block) {
  leave_slow(top, block, false);
}

}  // namespace fbleprof::signal_safe

using namespace fbleprof;               // NOLINT: the functions below are C's
using namespace fbleprof::signal_safe;  // NOLINT

void fbleprof_enter_from(std::uint32_t block, std::uint32_t place) {
  if (!fbleprof_hot.top) return;
  const HookState at = FBLEPROF_RETURN_STATE;
  if (!fbleprof_hot.self->session->options.call_sites) place = 0;
  const std::uint64_t callee =
      place != 0 ? callee_from_place(place, block) : callee_of_block(block);
  enter_as(FBLEPROF_OWN_FRAME, at, block, place, callee, Counted::kYes);
}

void fbleprof_enter_all(const std::uint32_t* blocks, std::size_t count) {
  const HookState at = FBLEPROF_RETURN_STATE;
  ThreadState* thread = own_thread();
  if (!thread || count == 0) return;
  const bool is_recorded = records(*thread);
  BusyGuard guard(*thread);
  if (!guard) {
    if (is_recorded) thread->record->lost_calls += count;
    return;
  }
  if (!is_recorded) {
    for (std::size_t i = 0; i < count; ++i) {
      enter_unrecorded(*thread, FBLEPROF_OWN_FRAME, blocks[i]);
    }
    return;
  }
  // The caller is proven once. Nothing can run between the blocks, so the others have the site 0.
  Proof proof = prove(*thread, FBLEPROF_OWN_FRAME, at);
  std::uint64_t site = at.pc;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t block = blocks[i];
    if (block == 0) continue;
    const std::uint64_t callee = callee_of_block(block);
    Entry* caller = proof.caller;
    const Slot* slot =
        proof.lasts ? find_slot(thread->cache, caller->word, caller->word ^ site, callee) : nullptr;
    if (slot && caller < thread->hot->limit) {
      *slot->calls += 1;
      push(*thread, caller, caller->frame, slot->to);
    } else {
      enter_block(guard, *thread, proof, block, 0, site, callee, Counted::kYes);
    }
    proof = {thread->hot->top, true, &at};
    site = 0;
  }
}

void fbleprof_redo(std::uint32_t block) {
  if (!fbleprof_hot.top) return;
  const HookState at = FBLEPROF_RETURN_STATE;
  enter_as(FBLEPROF_OWN_FRAME, at, block, 0, callee_of_block(block) | 1u << 30, Counted::kNo);
}

void fbleprof_leave_newest() {
  if (!fbleprof_hot.top) return;
  Entry* top = filter(fbleprof_hot.top, FBLEPROF_OWN_FRAME, false);
  if (is_gate(top) || !is_block(top)) return leave_slow(top, 0, true);
  fbleprof_hot.top = top - 1;
}

void fbleprof_replace(std::uint32_t block) { replace_newest(FBLEPROF_OWN_FRAME, block, false); }

void fbleprof_replace_below(std::uint32_t block) {
  replace_newest(FBLEPROF_OWN_FRAME, block, true);
}

// A mark is the position of the newest block in its stack and, in the upper bits, the number of
// blocks beyond the end.
std::uint64_t fbleprof_mark() {
  if (!fbleprof_hot.top) return 0;
  const ThreadState& thread = *fbleprof_hot.self;
  Entry* top = filter(fbleprof_hot.top, FBLEPROF_OWN_FRAME, false);
  const std::uint64_t beyond = is_beyond(thread, top) ? thread.current->beyond : 0;
  return beyond << 32 |
         static_cast<std::uint64_t>(newest_block(thread, top) - thread.current->gate);
}

void fbleprof_rewind(std::uint64_t mark) {
  ThreadState* thread = own_thread();
  if (!thread) return;
  records(*thread);  // recording may be due
  BusyGuard guard(*thread);
  if (!guard) return;
  Entry* top = filter(thread->hot->top, FBLEPROF_OWN_FRAME, false);
  if (is_beyond(*thread, top)) {
    const auto beyond = static_cast<std::uint32_t>(mark >> 32);
    if (beyond != 0) {
      if (beyond < thread->current->beyond) thread->current->beyond = beyond;
      return;
    }
    thread->current->beyond = 0;
    --top;
  }
  auto place = static_cast<std::uint32_t>(mark);
  // A profile that began after the mark has not ended.
  const auto floor = static_cast<std::uint32_t>(floor_of(*thread) - thread->current->gate);
  if (place < floor) place = floor;
  if (static_cast<std::uint64_t>(top - thread->current->gate) <= place) {
    thread->hot->top = top;
    return;
  }
  Entry* to = thread->current->gate + place + 1;
  // Native functions above the mark stay. In a program without hooks there are none to look for.
  if (top->frame != kNoFrame) {
    for (const Entry* entry = to; entry <= top; ++entry) {
      if (!is_block(entry)) *to++ = *entry;
    }
  }
  asm volatile("" ::: "memory");
  thread->hot->top = to - 1;
}

void fbleprof_tick(std::uint64_t count) {
  ThreadState* thread = recorded_thread();
  if (!thread) return;
  Entry* top = filter(thread->hot->top, FBLEPROF_OWN_FRAME, false);
  if (std::uint64_t* ticks = known_tick_counter(*thread, top)) {
    *ticks += count;
    return;
  }
  const HookState at = FBLEPROF_RETURN_STATE;
  *tick_counter(*thread, node_of(*thread, live_for_ticks(*thread, FBLEPROF_OWN_FRAME, at))) +=
      count;
}

std::uint64_t* fbleprof_tick_counter() {
  static __thread std::uint64_t ignored;
  ThreadState* thread = recorded_thread();
  if (!thread) return &ignored;
  const HookState at = FBLEPROF_RETURN_STATE;
  return tick_counter(*thread, node_of(*thread, live_for_ticks(*thread, FBLEPROF_OWN_FRAME, at)));
}
