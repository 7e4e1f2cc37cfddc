// The slow path of the hooks, and the C API's calls that change the shadow stack.
//
// A hook comes here if its call is not in the edge cache, if the top of the shadow stack may be
// stale, and in every unusual state (another stack, a forked child, a stopped profile). The answer
// goes into the cache if the same context and site must give the same answer next time. That is so
// if the entry taken for the caller is the one that the filter left on top.
#include "signal_safe/enter.h"

#include "arch/call_instruction.h"
#include "signal_safe/context_at.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// As hooks.S pushes it: the state at the hook's return.
struct HookState {
  std::uint64_t pc, sp, fp;
};

// Whether the direct call that returns to `site` names a function other than the one entered: then
// that function tail-called it. Indirect calls name no function.
bool reached_by_tail_call(const ThreadState& thread, std::uint64_t site, Ref entered) {
  Session& session = *thread.session;
  // Read only code that is known to be there: a return address may be anything (coroutines start
  // with 0), and generated code may stand at the edge of its mapping.
  const Ref caller = session.code_map.function_at(site - 1);
  if (caller == 0) return false;
  const auto* record = session.arena.at<format::Function>(caller);
  if (record->module == 0 || record->address > site - arch::kDirectCallBytes) return false;
  const std::uint64_t target = arch::direct_call_target(site);
  const Ref named = target != 0 ? session.code_map.function_at(target) : 0;
  if (named == 0 || named == entered) return false;
  // A PLT stub stands for whatever it jumps to.
  return (session.arena.at<format::Function>(named)->flags & format::kFunctionHooked) != 0;
}

void fill(Slot* slot, const Slot& with) {
  // A hook in a signal handler may see the slot half written: it must not hit.
  slot->tag = 0;
  asm volatile("" ::: "memory");
  slot->callee = with.callee;
  slot->calls = with.calls;
  slot->to = with.to;
  asm volatile("" ::: "memory");
  slot->tag = with.tag;
}

// Fills the slot that is looked at first; its old content moves to the other one of the pair.
void insert(const ThreadState& thread, Word context, const Slot& call) {
  const Session& session = *thread.session;
  Slot* slot = slot_of(thread.cache, context, call.tag, call.callee);
  const std::uint32_t emptied = session.caches_emptied.load(std::memory_order_acquire);
  const Slot before = *slot;
  if (before.tag != 0) {
    Slot* other = other_slot(slot);
    fill(other, before);
    // If another thread emptied the caches meanwhile, it may have passed this slot already.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (session.caches_emptied.load(std::memory_order_relaxed) != emptied) other->tag = 0;
  }
  fill(slot, call);
}

void remember(const ThreadState& thread, Word context, std::uint64_t site, std::uint64_t callee,
              std::uint64_t* calls, Word to) {
  if (!is_cacheable(context) || site >> arch::kUpperShift != 0) return;
  insert(thread, context, {context ^ site, callee, calls, to});
}

// The word of a node that `tree` holds.
Word word_in(const CallTree& tree, Ref node) { return word_of(node, tree.block_of(node)); }

void push(ThreadState& thread, Entry* below, Frame frame, Word word) {
  below[1].frame = frame;
  below[1].word = word;
  asm volatile("" ::: "memory");
  thread.hot->top = below + 1;
}

// Whether the state belongs to this process, not to one that forked it.
bool is_ours(ThreadState& thread) {
  if (thread.canary->alive) return true;
  auto adopt = [](void* state) -> long {
    auto* thread = static_cast<ThreadState*>(state);
    thread->session->adopt_forked_child(thread);
    return 0;
  };
  fbleprof_preserving_vectors(adopt, &thread);
  return fbleprof_hot.top != nullptr && fbleprof_hot.self->canary->alive;
}

// The newest entry that is live, by address, for a call at `frame`.
Entry* filter(Entry* top, Frame frame, bool equal_is_alive) {
  while (top->frame < frame || (top->frame == frame && !equal_is_alive)) --top;
  return top;
}

}  // namespace

namespace {

// A slot for one call pushes out another, and a rare call is found in the tree nearly as fast. So
// only this many in 64 of the calls that miss get a slot. They are drawn by lot: a rule by count
// would never choose one of two calls that alternate.
constexpr std::uint64_t kSlotsIn64 = 8;

bool draws_slot(ThreadState& thread) {
  thread.lot = thread.lot * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
  return thread.lot >> 58 < kSlotsIn64;
}

// Handles most calls that miss the cache: the caller is the top entry's function, site and callee
// are known facts, and the way was taken before. False if any of that does not hold.
bool enter_known_way(ThreadState& thread, Frame frame, std::uint64_t site, std::uint64_t callee) {
  const CodeMap& code = thread.session->code_map;
  const Ref function = code.known_hook_at(callee);
  const Ref owner = code.known_function_at(site - 1);
  Entry* top = filter(thread.hot->top, frame, false);
  if (function == 0 || is_gate(top) || shares_frame_with_below(top) || top >= thread.hot->limit) {
    return false;
  }
  const Ref from = node_of_word(top->word);
  if (thread.tree.function_of(from) != owner) return false;
  const Step step = thread.tree.find(from, function, site);
  if (!step || *step.calls == 0) return false;
  *step.calls += 1;
  const Word word = word_of(step.to, arch::kNoBlock);
  if (draws_slot(thread)) {
    remember(thread, top->word, site, callee, step.calls, word);
  }
  push(thread, top, frame, word);
  return true;
}

// Handles any call. The guard proves that we may change the tree.
__attribute__((noinline)) void enter_new_way(const BusyGuard& guard, ThreadState& thread,
                                             Frame frame, std::uint64_t site, std::uint64_t callee,
                                             int hook, const HookState* at) {
  Session& session = *thread.session;
  const bool is_api = hook == HOOK_API;
  if (is_api && callee == 0) return;
  Entry* top = filter(thread.hot->top, frame, hook == HOOK_CYG);
  if (!is_api) top = without_left_behind(top);
  const Ref function = is_api ? session.function_of_block(static_cast<std::uint32_t>(callee))
                              : session.code_map.hooked_function_at(callee);
  Entry* caller = is_api             ? top
                  : hook == HOOK_CYG ? find_host(thread, top, frame, function, at->pc)
                                     : nullptr;
  const bool has_own_frame = caller == nullptr;
  if (!caller) caller = prove_caller(thread, top, frame, site, {at->pc, at->sp, at->fp});
  if (caller >= thread.hot->limit) {
    thread.record->deep_calls += 1;
    return;
  }
  const Step step = function != 0 ? thread.tree.enter(guard, node_of(thread, caller), function,
                                                      is_api ? 0 : site, 0)
                                  : Step{};
  if (!step) {
    thread.record->lost_calls += 1;
    return;
  }
  if (*step.calls == 0) {
    // The first call by a hook on this edge; a sample may have made the edge before.
    *step.flags &= static_cast<std::uint8_t>(~format::kEdgeSampled);
    if (has_own_frame && reached_by_tail_call(thread, site, function)) {
      *step.flags |= format::kEdgeByTailCall;
    }
    if (is_api) mark_entering_functions(thread, {at->pc, at->sp, at->fp});
    thread.record->flags |= format::kThreadHooked;
  }
  *step.calls += 1;
  const Word word = word_in(thread.tree, step.to);
  push(thread, caller, is_api ? caller->frame : frame, word);
  // Below the root's gate there is no caller to prove, but there may be another stack to find.
  const bool one_stack = is_api || thread.signal_stack.gate == nullptr;
  const bool same_next_time =
      caller == top && (!is_gate(caller) || (caller->word == kRootGateWord && one_stack));
  if (same_next_time && *step.calls > 1)
    remember(thread, caller->word, site, callee, step.calls, word);
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
  if (!thread.session->recording.load(std::memory_order_relaxed)) return;
  HookState api;
  if (hook == HOOK_API) {
    // Reached by a jump from fbleprof_enter, so its return address is ours.
    const std::uint64_t slot = frame + FRAME_BIAS;
    api = {*reinterpret_cast<const std::uint64_t*>(slot), slot + 8,
           *static_cast<const std::uint64_t*>(__builtin_frame_address(0))};
    at = &api;
  }
  if (hook == HOOK_NATIVE && enter_known_way(thread, frame, site, callee)) return;
  enter_new_way(guard, thread, frame, site, callee, hook, at);
}

// The exit hook of a function that has no entry at the hook's frame or below. Either it has no
// entry at all (entered before the profile began, or when the shadow stack was full), or the
// compiler split it and this is its rest. `hook_return` is in that rest; 0 if the rest tail-called
// the hook.
extern "C" void fbleprof_exit_slow(std::uint64_t callee, std::uint64_t hook_return) {
  if (!is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard || !thread.session->recording.load(std::memory_order_relaxed)) return;
  Entry* top = thread.hot->top;
  const Ref function = thread.session->code_map.hooked_function_at(callee);
  if (is_gate(top) || !is_entry_of(thread, top, function)) return;
  const bool is_rest = hook_return != 0
                           ? thread.session->code_map.function_at(hook_return - 1) != function
                           : shares_frame_with_below(top);
  if (is_rest) thread.hot->top = top - 1;
}

// The block is not on top: a callee's entry lies above it, or there is no such entry.
extern "C" void fbleprof_leave_slow(Entry* top, std::uint32_t block) {
  if (!is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard || !thread.session->recording.load(std::memory_order_relaxed)) return;
  if (block == 0) return;
  const Ref function = thread.session->function_of_block(block);
  // Blocks of one native frame may end out of order, if an error skipped some leaves.
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
  if (!thread.session->recording.load(std::memory_order_relaxed)) return;
  Entry* top = filter(thread.hot->top, frame, false);
  if (is_gate(top)) {
    thread.record->unmatched += 1;
    return;
  }
  // Use the cache here too. Hooks never form this key: the callee has its top bit set, and holds
  // the caller's context.
  const bool cacheable = is_cacheable(top->word) && !is_gate(top - 1);
  const std::uint64_t callee =
      std::uint64_t{1} << 63 | static_cast<std::uint64_t>(node_of_word(top[-1].word)) << 32 | block;
  const std::uint64_t tag = top->word ^ block;
  if (const Slot* slot = cacheable ? find_slot(thread.cache, top->word, tag, callee) : nullptr) {
    *slot->calls += 1;
    push(thread, top - 1, top->frame, slot->to);
    return;
  }
  const Ref function = thread.session->function_of_block(block);
  const Step tail = function != 0 ? thread.tree.replace(guard, node_of(thread, top - 1),
                                                        node_of(thread, top), function)
                                  : Step{};
  if (!tail) {
    thread.record->lost_calls += 1;
    return;
  }
  *tail.calls += 1;
  const Word word = word_in(thread.tree, tail.to);
  if (cacheable) insert(thread, top->word, {tag, callee, tail.calls, word});
  push(thread, top - 1, top->frame, word);
}

void tick(Frame frame, std::uint64_t count) {
  if (!fbleprof_hot.top || !is_ours(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  if (!thread.session->recording.load(std::memory_order_relaxed)) return;
  const Entry* top = filter(thread.hot->top, frame, false);
  const Ref node = node_of(thread, top);
  if (thread.tree.node_at(node)->values == 0) {
    BusyGuard guard(thread);
    if (guard) thread.tree.values(guard, node);
  }
  // A node without values of its own uses the root's.
  thread.tree.values_or_root(node)[kTicks] += count;
}

}  // namespace fbleprof::signal_safe
