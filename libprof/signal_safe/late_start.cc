#include "signal_safe/late_start.h"

#include "arch/trampoline.h"
#include "signal_safe/context_at.h"
#include "signal_safe/entries.h"

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// The state in the function that called the hooked one. False: the walk cannot find it.
bool find_caller(ThreadState& thread, std::uint64_t callee, int hook, const HookState& at,
                 MachineState* caller) {
  CodeMap& code = thread.session->code_map;
  const bool is_call = hook == HOOK_CYG;
  // A trampoline has no unwind table; there the frame is as at the function's first instruction.
  const std::uint64_t pc =
      is_of_trampoline(hook) ? arch::function_of_trampoline(callee)->address : at.pc;
  StackWalk walk(thread, {pc, at.sp, at.fp}, is_call);
  // The hook of an inlined function is called by the function around it.
  const bool is_inlined =
      is_call && code.function_at(walk.code_address()) != code.hooked_function_at(callee);
  if (!is_inlined && !walk.next()) return false;
  *caller = walk.state();
  return true;
}

// Entries for the frames of a walk, innermost first. Until they are pushed they are above the top,
// where nothing reads them.
class FoundEntries {
 public:
  explicit FoundEntries(ThreadState& thread)
      : thread_(thread), top_(thread.hot->top), found_(top_ + 1) {}

  // False: there is no room.
  bool add(const StackWalk& walk, Ref function, Ref context) {
    oldest_slot_ = walk.return_slot();
    // The outermost function calls nothing again; a left-out one has its caller's context.
    if (oldest_slot_ == 0 || function == 0 || thread_.session->code_map.is_left_out(function)) {
      return true;
    }
    if (found_ + count_ >= thread_.hot->limit && !make_room(thread_)) return false;
    found_[count_++] = {oldest_slot_ - FRAME_BIAS, word_of(context, arch::kNoBlock)};
    return true;
  }

  void push() {
    for (std::uint32_t i = 0; i < count_ / 2; ++i) {
      const Entry entry = found_[i];
      found_[i] = found_[count_ - 1 - i];
      found_[count_ - 1 - i] = entry;
    }
    Entry* gate = thread_.current->gate;
    // Blocks stay, those of a stack without other entries, too.
    Entry* below =
        filter_by_address(gate, top_, oldest_slot_ == 0 ? gate->frame : oldest_slot_ + 1);
    thread_.hot->top = below;
    asm volatile("" ::: "memory");
    for (std::uint32_t i = 0; i < count_; ++i) below[1 + i] = found_[i];
    asm volatile("" ::: "memory");
    thread_.hot->top = below + count_;
  }

 private:
  ThreadState& thread_;
  Entry* top_;
  Entry* found_;
  std::uint32_t count_ = 0;
  std::uint64_t oldest_slot_ = 0;
};

Ref function_at(const ThreadState& thread, const StackWalk& walk) {
  return thread.session->code_map.function_at(walk.code_address());
}

// All frames that the walk of context_at remembered, which are those above the newest live entry.
// False: it did not remember all of them.
bool add_older(ThreadState& thread, StackWalk& walk, FoundEntries& entries) {
  const KnownStack& known = thread.known;
  for (std::uint32_t i = 0; i < known.frames();) {
    if (!walk.next()) return false;
    if (walk.pc_slot() != known.frame(i).slot) continue;  // one of our wrappers
    if (!entries.add(walk, known.frame(i).function, known.frame(i).context)) return false;
    ++i;
  }
  return true;
}

}  // namespace

void let_hooks_hit(ThreadState& thread) {
  __atomic_store_n(&thread.hot->cache, thread.cache.slots, __ATOMIC_SEQ_CST);
  // If recording is turned off at this moment, either we or the thread that does it comes last.
  if (!thread.session->recording.load()) {
    __atomic_store_n(&thread.hot->cache, thread.session->empty_cache, __ATOMIC_SEQ_CST);
  }
}

void drop_old_entries(const BusyGuard&, ThreadState& thread) {
  if (__atomic_load_n(&thread.is_behind, __ATOMIC_RELAXED) != ThreadState::kBehindWithOldEntries) {
    return;
  }
  thread.hot->top = thread.current->gate;
  __atomic_store_n(&thread.is_behind, ThreadState::kBehind, __ATOMIC_RELAXED);
}

void catch_up(const BusyGuard& guard, ThreadState& thread, std::uint64_t callee, int hook,
              const HookState& at) {
  let_hooks_hit(thread);
  drop_old_entries(guard, thread);
  MachineState caller;
  // A handler, or a coroutine: the thread's own stack is missing still.
  if (!thread.current->contains(at.sp)) return;
  if (find_caller(thread, callee, hook, at, &caller)) {
    const std::uint32_t walks = thread.known.walks();
    const Ref context = context_at(guard, thread, caller, Reached::kByReturn, For::kEntries);
    // Otherwise the caller has an entry, as those below it.
    const bool has_walked = thread.known.walks() != walks;
    StackWalk walk(thread, caller, true);
    FoundEntries nearest(thread);
    nearest.add(walk, function_at(thread, walk), context);
    FoundEntries all = nearest;
    const bool is_whole = has_walked && thread.known.is_whole() && add_older(thread, walk, all);
    if (is_whole) {
      all.push();
    } else {
      nearest.push();
    }
  }
  __atomic_store_n(&thread.is_behind, 0, __ATOMIC_RELAXED);
}

}  // namespace fbleprof::signal_safe
