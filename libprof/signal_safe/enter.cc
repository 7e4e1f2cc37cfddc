// The slow path of the hooks of native functions.
//
// A hook calls it if the call is not in the edge cache, if the top of the shadow stack may be
// stale, and in every unusual state (another stack, a forked child, a stopped profile). The answer
// goes into the cache if the same context and site must give the same answer next time. That is so
// if the caller is the entry that the filter left on top, and the site is in its function's code.
// Code without hooks may be called by a function that is on top, and later after that function
// returned: see proven_ways.h.
#include "signal_safe/enter.h"

#include "arch/call_instruction.h"
#include "arch/trampoline.h"
#include "signal_safe/blocks.h"
#include "signal_safe/edge_cache.h"
#include "signal_safe/entries.h"
#include "signal_safe/late_start.h"
#include "signal_safe/little_room.h"
#include "signal_safe/profile_switch.h"
#include "signal_safe/proven_ways.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// Whether the direct call that returns to `site` names a function other than the one entered: then
// that function tail-called it. Indirect calls name no function.
bool reached_by_tail_call(const ThreadState& thread, std::uint64_t site, Ref entered) {
  const Ref named = direct_callee(thread, site);
  if (named == 0 || named == entered) return false;
  // A PLT stub stands for its target.
  const auto* record = thread.session->arena.at<format::Function>(named);
  return (record->flags & format::kFunctionHooked) != 0;
}

// A hook's description of a call. Slots of the cache have `key` for the callee: the callee as the
// hook sees it, which for a rewritten function is its trampoline. 0: the hook finds no such slot.
struct Call {
  Frame frame;
  std::uint64_t site, callee, key;
  arch::RewrittenFunction* rewritten;  // null for others

  bool is_of_leaf() const { return rewritten != nullptr && rewritten->is_leaf != 0; }
};

// A leaf gets no entry: it makes no calls, and its caller proves its samples. The entries above the
// caller's go as with other calls: if a stale one stayed on top, each call of a leaf by code
// without hooks (a comparison that qsort calls) would miss the cache and walk the stack.
void push(ThreadState& thread, Entry* below, const Call& call, Word word) {
  if (call.is_of_leaf()) {
    thread.hot->top = below;
  } else {
    signal_safe::push(thread, below, call.frame, word);
  }
}

void remember(ThreadState& thread, Word context, const Call& call, std::uint64_t* calls, Word to) {
  if (call.key != 0) remember_call(thread, context, call.site, call.key, calls, to);
}

Ref known_function(const CodeMap& code, const Call& call) {
  return call.rewritten != nullptr ? code.known_hook_of(call.callee, &call.rewritten->known)
                                   : code.known_hook_at(call.callee);
}

// The entry of the function that the call returns to, by known facts alone: the top one, or one
// below it if the top ones are stale (a call whose arguments are on the stack may find the entry of
// the call before it). Null: it takes more to tell.
Entry* known_caller(const ThreadState& thread, Entry* top, std::uint64_t site) {
  const CodeMap& code = thread.session->code_map;
  const Ref function = thread.tree.function_of(node_of_word(top->word));
  if (code.is_surely_in(function, site - 1)) return top;
  const Ref owner = code.known_function_at(site - 1);
  if (owner == function) return top;
  Entry* found = find_owner(thread, top, owner);
  return found == nullptr || shares_frame_with_below(found) ? nullptr : found;
}

// Handles most calls that miss the cache: caller, site and callee are known facts, and the way was
// taken before. False if any of that does not hold.
bool enter_known_way(ThreadState& thread, const Call& call) {
  const auto [frame, site, callee, key, rewritten] = call;
  const CodeMap& code = thread.session->code_map;
  const Ref function = known_function(code, call);
  Entry* top = filter(thread.hot->top, frame, false);
  if (function == 0 || is_gate(top) || shares_frame_with_below(top) || top >= thread.hot->limit) {
    return false;
  }
  Entry* caller = known_caller(thread, top, site);
  if (caller == nullptr) return false;
  const Step step = thread.tree.find(node_of_word(caller->word), function, site);
  if (!step || *step.calls == 0) return false;
  *step.calls += 1;
  const Word word = word_of(step.to, arch::kNoBlock);
  if (caller == top) remember(thread, top->word, call, step.calls, word);
  push(thread, caller, call, word);
  return true;
}

// Handles a tail call from a known function, whose entry the callee takes over. False: that
// function has no entry in this frame, because it was not counted this time.
bool enter_by_tail_call(const BusyGuard& guard, ThreadState& thread, const Call& call,
                        std::uint64_t hook_return) {
  CodeMap& code = thread.session->code_map;
  Entry* top = filter(thread.hot->top, call.frame, true);
  Entry* replaced = top;
  while (shares_frame_with_below(replaced)) --replaced;  // blocks, which end with the function
  const Ref from = code.hooked_function_at(call.rewritten->jumps_from);
  const Ref function = code.hooked_function_at(call.callee);
  if (top->frame != call.frame || from == 0 || function == 0 ||
      !is_entry_of(thread, replaced, from)) {
    return false;
  }
  const Entry* caller = replaced - 1;
  const Step step = thread.tree.replace(guard, node_of(thread, caller), node_of(thread, replaced),
                                        function, format::kEdgeByTailCall);
  if (!step) return false;
  *step.calls += 1;
  const Word word = word_of(step.to, arch::kNoBlock);
  if (replaced == top) {
    remember_tail_call(thread, replaced->word, caller->word, hook_return, step.calls, word);
  }
  thread.hot->top = replaced;
  asm volatile("" ::: "memory");
  replaced->word = word;
  return true;
}

// Counts a call on its way, whose first call it may be, and pushes the callee's entry. `lasts`: the
// same context and site always mean the same caller. `is_tail_call` is asked only at the first
// call.
//
// A signal may interrupt a hook that is pushing an entry above this caller, and has not set the top
// yet. If the handler's first call took the place of that entry, it would be on top when the hook
// goes on. If the hook has written the entry, that is the caller here. If not (`interrupted` is a
// hook), the call pushes two entries: the hook writes over the first. As a handler's first call
// must come here each time, it is not remembered.
template <typename IsTailCall>
void take_way(ThreadState& thread, const Call& call, const Step& step, bool lasts, Entry* caller,
              Ref function, const Interrupted& interrupted, IsTailCall is_tail_call) {
  if (*step.calls == 0) {
    // The first call by a hook on this edge; a sample, or a tail call, may have made it before.
    constexpr int kOld = format::kEdgeSampled | format::kEdgeByTailCall;
    *step.flags &= static_cast<std::uint8_t>(~kOld);
    if (is_tail_call()) *step.flags |= format::kEdgeByTailCall;
    thread.record->flags |= format::kThreadHooked;
    if (call.is_of_leaf()) thread.session->code_map.mark_leaf(function);
  }
  *step.calls += 1;
  // A left-out function has the context of its caller, which may be a block.
  const Word word = word_of(step.to, arch::kNoBlock);
  if (interrupted.is_known) {
    if (call.is_of_leaf()) return;
    if (interrupted.is_hook) *++caller = {call.frame, word};
    push(thread, caller, call, word);
    return;
  }
  push(thread, caller, call, word);
  // Below the root's gate there is no caller to prove, but the call may be on another stack.
  const bool one_stack = thread.signal_stack.gate == nullptr;
  const bool same_next_time =
      lasts && (!is_gate(caller) || (caller->word == kRootGateWord && one_stack));
  if (same_next_time && *step.calls > 1) remember(thread, caller->word, call, step.calls, word);
}

// Handles any call. The guard proves that we may change the tree.
__attribute__((noinline)) void enter_new_way(const BusyGuard& guard, ThreadState& thread,
                                             const Call& call, int hook, const HookState* at) {
  const auto [frame, site, callee, key, rewritten] = call;
  Entry* top = filter(thread.hot->top, frame, hook == HOOK_CYG);
  top = without_left_behind(top);
  const Ref function = thread.session->code_map.hooked_function_at(callee);
  Entry* caller = hook == HOOK_CYG ? find_host(thread, top, frame, function, at->pc) : nullptr;
  const bool has_own_frame = caller == nullptr;
  // The exit hooks of -finstrument-functions leave no stale entries.
  bool lasts = hook == HOOK_CYG || is_gate(top);
  Interrupted interrupted;
  if (!caller) {
    thread.walked.decide = false;
    caller = prove_caller(thread, top, frame, site, {at->pc, at->sp, at->fp},
                          {&interrupted, &lasts, &thread.walked});
    if (!interrupted.is_known) keep_proof(thread, top, caller, *at);
    // Above the deepest entry so far all words are 0.
    if (interrupted.is_hook && interrupted.word != 0 && caller[1].word == interrupted.word) {
      // The hook writes the word first, and may not have come to the frame.
      if (caller[1].frame <= frame || caller[1].frame > caller->frame) {
        caller[1].frame = caller->frame;
      }
      ++caller;
      interrupted.is_hook = false;  // it has pushed its entry
    }
  }
  if (caller >= thread.hot->limit && !make_room(thread)) {
    thread.record->deep_calls += 1;
    return;
  }
  const Step step =
      function != 0 ? thread.tree.enter(guard, node_of(thread, caller), function, site, 0) : Step{};
  if (!step) {
    thread.record->lost_calls += 1;
    return;
  }
  take_way(
      thread, call, step, lasts && caller == top, caller, function, interrupted,
      [&, site = site] { return has_own_frame && reached_by_tail_call(thread, site, function); });
}

// Handles the first call on a way from the function of the top entry, whose code is known to hold
// the call.
__attribute__((noinline)) void enter_first_time(const BusyGuard& guard, ThreadState& thread,
                                                const Call& call, Entry* top, Ref function) {
  const Ref caller = node_of_word(top->word);
  const Step step = thread.tree.enter_new(guard, caller, function, call.site, 0);
  take_way(thread, call, step, true, top, function, {}, [&] {
    // Mostly the call names the function that was entered.
    const auto* code = thread.session->arena.at<format::Function>(thread.tree.function_of(caller));
    return (code->address > call.site - arch::kDirectCallBytes ||
            arch::direct_call_target(call.site) != call.callee) &&
           reached_by_tail_call(thread, call.site, function);
  });
}

// These take the guard themselves: an address of the guard in the hook's usual path would cost it
// five instructions.
__attribute__((noinline, cold)) bool begins_recording(ThreadState& thread) {
  const BusyGuard guard(thread);
  return guard && is_recording(*thread.session);
}

__attribute__((noinline, cold)) void settle(ThreadState& thread, Frame frame, std::uint64_t callee,
                                            int hook, const HookState& at) {
  const BusyGuard guard(thread);
  if (!guard) return;
  if (thread.is_behind != 0) catch_up(guard, thread, callee, hook, at);
  if (thread.profiles != 0) {
    settle_profiles(thread, filter(thread.hot->top, frame, hook == HOOK_CYG));
  }
}

// Handles most calls that miss a cache of the full size: the caller's entry is on top, and the way
// is a node that the caller's names, or a new one.
enum class FromTop {
  kEntered,
  kOtherCode,  // the call is by other code than that of the top entry's function
  kUnknown,    // it takes more to tell
};
template <int kHook>
inline FromTop enter_from_top(const BusyGuard& guard, ThreadState& thread, Frame frame,
                              std::uint64_t site, std::uint64_t key) {
  const CodeMap& code = thread.session->code_map;
  arch::RewrittenFunction* rewritten =
      kHook == HOOK_EXACT ? arch::function_of_trampoline(key) : nullptr;
  const Ref function =
      kHook == HOOK_EXACT ? code.kept_hook(rewritten->known) : code.known_hook_at(key);
  Entry* top = filter(fbleprof_hot.top, frame, false);
  if (function == 0 || is_gate(top) || shares_frame_with_below(top) || top >= fbleprof_hot.limit ||
      site >> arch::kUpperShift != 0) {
    return FromTop::kUnknown;
  }
  const Ref caller = node_of_word(top->word);
  if (!code.is_surely_in(thread.tree.function_of(caller), site - 1)) {
    return FromTop::kOtherCode;
  }
  const CallTree::Child child = thread.tree.find_child(caller, function);
  if (child.is_new) {
    const std::uint64_t callee = kHook == HOOK_EXACT ? rewritten->address : key;
    enter_first_time(guard, thread, {frame, site, callee, key, rewritten}, top, function);
    return FromTop::kEntered;
  }
  if (child.node == 0) return FromTop::kUnknown;
  std::uint64_t* calls = &thread.tree.node_at(child.node)->calls;
  if (*calls == 0) return FromTop::kUnknown;
  *calls += 1;
  const Word word = word_of(child.node, arch::kNoBlock);
  insert_among_all(thread, top->word, {top->word ^ site, key, calls, word});
  if (kHook != HOOK_EXACT || rewritten->is_leaf == 0) signal_safe::push(thread, top, frame, word);
  return FromTop::kEntered;
}

// Handles most calls by code without hooks: a walk has proven their caller, and the way was taken
// before. False if either does not hold.
bool enter_proven_way(ThreadState& thread, const Call& call, const HookState& at) {
  Entry* top = filter(fbleprof_hot.top, call.frame, false);
  if (is_gate(top) || top >= fbleprof_hot.limit) return false;
  ProvenWay* way = proven_before(thread, top, at);
  if (way == nullptr) return false;
  if (way->site != call.site) {
    const Ref function = known_function(thread.session->code_map, call);
    if (function == 0) return false;
    const Step step = thread.tree.find(node_of_word(way->caller->word), function, call.site);
    if (!step) return false;
    way->calls = step.calls;
    way->word = word_of(step.to, arch::kNoBlock);
    way->site = call.site;
  }
  if (*way->calls == 0) return false;
  *way->calls += 1;
  push(thread, way->caller, call, way->word);
  return true;
}

// Handles any call by any hook.
__attribute__((noinline)) void enter(Frame frame, std::uint64_t site, std::uint64_t callee,
                                     int hook, const HookState* at) {
  if (!is_own(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  if (!thread.session->recording.load(std::memory_order_relaxed) && !begins_recording(thread)) {
    return;
  }
  if (needs_settling(thread)) [[unlikely]]
    settle(thread, frame, callee, hook, *at);
  BusyGuard guard(thread);
  if (!guard) {
    thread.record->lost_calls += 1;
    return;
  }
  Call call{frame, site, callee, callee, nullptr};
  HookState at_function;
  if (is_of_trampoline(hook)) {
    // The frame is as at the function's first instruction.
    call.rewritten = arch::function_of_trampoline(callee);
    call.callee = call.rewritten->address;
    at_function = {call.callee, at->sp, at->fp};
    at = &at_function;
  }
  if (hook == HOOK_TAIL) {
    if (enter_by_tail_call(guard, thread, call, callee)) return;
    call.key = 0;
  }
  if (hook != HOOK_CYG && enter_known_way(thread, call)) return;
  call_with_room(thread, [&] { enter_new_way(guard, thread, call, hook, at); });
}

}  // namespace

bool adopt_forked_child(ThreadState& thread) {
  // The adoption may call rewritten functions, whose hooks come here again.
  if (thread.adopting) return false;
  thread.adopting = true;
  auto adopt = [](void* state) -> long {
    auto* thread = static_cast<ThreadState*>(state);
    thread->session->adopt_forked_child(thread);
    return 0;
  };
  fbleprof_preserving_vectors(adopt, &thread);
  thread.adopting = false;
  return fbleprof_hot.top != nullptr && fbleprof_hot.self->canary->alive;
}

extern "C" void fbleprof_enter_slow(Entry*, Frame frame, std::uint64_t site, std::uint64_t callee,
                                    int hook, const HookState* at) {
  ThreadState& thread = *fbleprof_hot.self;
  // What is not so mostly: enter() sees to it.
  if (thread.canary->alive != 0 && thread.session->recording.load(std::memory_order_relaxed) &&
      !needs_settling(thread) && thread.busy == 0) {
    const BusyGuard guard(thread, BusyGuard::kIdle);
    const bool is_large = has_all_slots(thread.cache);
    FromTop from_top = FromTop::kOtherCode;
    if (hook == HOOK_EXACT) {
      if (is_large) from_top = enter_from_top<HOOK_EXACT>(guard, thread, frame, site, callee);
      if (from_top == FromTop::kEntered) return;
      auto* rewritten = arch::function_of_trampoline(callee);
      const HookState at_function{rewritten->address, at->sp, at->fp};
      const Call call{frame, site, rewritten->address, callee, rewritten};
      if (from_top == FromTop::kOtherCode && enter_proven_way(thread, call, at_function)) return;
    } else if (hook == HOOK_NATIVE) {
      if (is_large) from_top = enter_from_top<HOOK_NATIVE>(guard, thread, frame, site, callee);
      if (from_top == FromTop::kEntered) return;
      const Call call{frame, site, callee, callee, nullptr};
      if (from_top == FromTop::kOtherCode && enter_proven_way(thread, call, *at)) return;
    }
  }
  enter(frame, site, callee, hook, at);
}

// The exit hook of a function that has no entry at the hook's frame or below. Either it has no
// entry at all (entered before the profile began, or when the shadow stack was full), or catch_up
// made its entry, in the frame of a return address, or the compiler split it and this is its rest,
// or the function has made its frame larger (alloca, an array of variable length).
// `hook_return` is in that rest; 0 if the rest tail-called the hook.
extern "C" void fbleprof_exit_slow(std::uint64_t callee, std::uint64_t hook_return) {
  const HookState at = FBLEPROF_RETURN_STATE;
  if (!is_own(*fbleprof_hot.self)) return;
  ThreadState& thread = *fbleprof_hot.self;
  BusyGuard guard(thread);
  if (!guard || !thread.session->recording.load(std::memory_order_relaxed)) return;
  Entry* top = thread.hot->top;
  const Ref function = thread.session->code_map.hooked_function_at(callee);
  if (is_gate(top) || !is_entry_of(thread, top, function)) return;
  const bool is_rest = hook_return != 0
                           ? thread.session->code_map.function_at(hook_return - 1) != function
                           : shares_frame_with_below(top);
  const auto is_in_frame = [&] {
    const StackWalk walk(thread, {at.pc, at.sp, at.fp}, true);
    return hook_return != 0 && top->frame + FRAME_BIAS <= walk.return_slot();
  };
  if (is_rest || is_in_frame()) thread.hot->top = top - 1;
}

}  // namespace fbleprof::signal_safe
