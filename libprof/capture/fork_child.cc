#include "capture/fork_child.h"

#include <sys/mman.h>

#include <algorithm>

#include "arch/kernel.h"
#include "arch/restart.h"
#include "capture/children.h"
#include "capture/control.h"
#include "capture/fatal_signals.h"
#include "capture/found_threads.h"
#include "capture/hook_copy.h"
#include "capture/kept_snapshots.h"
#include "capture/large_stack.h"
#include "capture/loading.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/process_facts.h"
#include "capture/profile.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "capture/switching.h"
#include "capture/text_changes.h"
#include "capture/threads.h"
#include "capture/unrecorded.h"
#include "signal_safe/session.h"
#include "signal_safe/waits.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::Entry;
using signal_safe::session;
using signal_safe::Stack;
using signal_safe::ThreadState;

namespace {

// The child's inheritance: the parent's file, still mapped here, and the shadow stacks and the
// signal stack of the thread that forked. Other contexts of the program (green_threads.h) are empty
// in the child.
class Inheritance {
 public:
  explicit Inheritance(const ThreadState* thread) {
    if (thread) {
      const auto& stack = thread->main_stack;
      gate_ = stack.gate;
      top_ = thread->current == &stack ? fbleprof_hot.top : stack.saved_top;
      bounds_ = {stack.low, stack.high};
      context_ = static_cast<Stack*>(thread->context);
      if (context_ && thread->current == context_) context_->saved_top = fbleprof_hot.top;
    }
    signal_stack_ = signal_stack_of_this_thread();
    file_.adopt(session.arena.base(), session.arena.cap_bytes(), 0);
  }

  StackBounds bounds() const { return bounds_; }
  StackBounds signal_stack() const { return signal_stack_; }
  signal_safe::Arena& file() { return file_; }

  // The parent's blocks keep their numbers, because the program holds them.
  void take_blocks() const {
    file_.for_each(format::Kind::kFunction, [this](format::Ref ref) {
      const auto* old = file_.at<format::Function>(ref);
      return old->kind != format::FunctionKind::kBlock || take_block(*old);
    });
  }

  // Rebuilds the parent's shadow stacks in the calling thread's new tree.
  void replay_stacks() const {
    if (!fbleprof_hot.top || !gate_) return;
    ThreadState& state = *fbleprof_hot.self;
    signal_safe::BusyGuard guard(state);
    replay(guard, state, gate_, top_);
    // The stack of a coroutine has no room for a long path.
    if (context_) on_large_stack([&] { replay_context(guard, state); });
  }

  void release() {
    kernel_call(SYS_munmap, reinterpret_cast<long>(file_.base()),
                static_cast<long>(file_.cap_bytes()));
  }

 private:
  // Rebuilds the entries up to `last` of a stack as those of the current one, which may be the
  // same.
  void replay(const signal_safe::BusyGuard& guard, ThreadState& state, const Entry* gate,
              const Entry* last) const {
    Entry* top = state.current->gate;
    format::Ref below = 0;  // the parent's node of `top`
    for (const Entry* entry = gate + 1; entry <= last; ++entry) {
      if (top >= state.hot->limit && !signal_safe::make_room(state)) break;
      const Entry its = *entry;
      const format::Ref parent_node = signal_safe::node_of_word(its.word);
      // The function is left out, or its recursion is folded into its caller's context.
      if (top != state.current->gate && below == parent_node) {
        top[1] = {its.frame, signal_safe::word_of(signal_safe::node_of_word(top->word),
                                                  arch::block_of(its.word))};
        ++top;
        continue;
      }
      below = parent_node;
      // The root of another profile's tree: the child records into its own.
      if (file_.at<format::Node>(parent_node)->parent == 0) continue;
      const format::Ref function = translate(parent_node);
      if (function == 0) break;
      const signal_safe::Step step = state.tree.enter(guard, signal_safe::node_of(state, top),
                                                      function, 0, format::kEdgeSampled);
      top[1] = {its.frame, signal_safe::word_of(step.to, state.tree.block_of(step.to))};
      ++top;
    }
    asm volatile("" ::: "memory");
    state.hot->top = top;
  }

  // The fork was made in a context of the program: the child goes on there.
  void replay_context(const signal_safe::BusyGuard& guard, ThreadState& state) const {
    const Entry* last = context_->saved_top;
    context_->base = path_in_child(guard, state, context_->base, 0);
    context_->tree = state.tree.root();
    context_->file = session.this_file();
    state.current->saved_top = state.hot->top;
    asm volatile("" ::: "memory");
    state.current = context_;
    state.context = context_;
    state.hot->limit = context_->limit;
    state.hot->top = context_->gate;
    replay(guard, state, context_->gate, last);
  }

  // The node for the path of one of the parent's nodes.
  format::Ref path_in_child(const signal_safe::BusyGuard& guard, ThreadState& state,
                            format::Ref parent_node, int depth) const {
    constexpr int kLongestPath = 1024;
    const format::Ref above = file_.at<format::Node>(parent_node)->parent;
    if (above == 0 || depth == kLongestPath) return state.tree.root();
    const format::Ref at = path_in_child(guard, state, above, depth + 1);
    const format::Ref function = translate(parent_node);
    if (function == 0) return at;
    return state.tree.enter(guard, at, function, 0, format::kEdgeSampled).to;
  }

  format::Ref copy(format::Ref string) const {
    if (string == 0) return 0;
    const auto* text = file_.at<format::String>(string);
    return session.arena.add_string(text->bytes, text->length);
  }

  bool take_block(const format::Function& old) const {
    const format::Ref made = session.code_map.function_with_key(old.address, old.kind);
    if (made == 0) return false;
    auto* block = session.arena.at<format::Function>(made);
    block->name = copy(old.name);
    block->file = copy(old.file);
    block->line = old.line;
    block->column = old.column;
    block->language = copy(old.language);
    block->flags = old.flags;
    if (old.recorder_key != 0) session.code_map.name_key(old.recorder_key, 0, made);
    session.code_map.name_block(static_cast<std::uint32_t>(old.address), made);
    return true;
  }

  // The function in the new file that a node of the parent's file stands for, or 0.
  format::Ref translate(format::Ref parent_node) const {
    const auto* node = file_.at<format::Node>(parent_node);
    const auto* function = file_.at<format::Function>(node->function);
    switch (function->kind) {
      case format::FunctionKind::kBlock:
        return session.function_of_block(static_cast<std::uint32_t>(function->address));
      case format::FunctionKind::kOverflow:
        return session.trees.overflow;
      case format::FunctionKind::kDeeper:
        return session.trees.deeper;
      default: {
        const bool is_hooked = (function->flags & format::kFunctionHooked) != 0;
        return is_hooked ? session.code_map.hooked_function_at(function->address)
                         : session.code_map.function_at(function->address);
      }
    }
  }

  signal_safe::Arena file_;
  const Entry* gate_ = nullptr;
  const Entry* top_ = nullptr;
  Stack* context_ = nullptr;  // in which the fork was made
  StackBounds bounds_, signal_stack_;
};

// A forked child that cannot have a profile is not recorded. The parent's file is mapped here too,
// but belongs to the parent; the child is only counted there.
void go_on_without_profile(format::Header* parent, bool is_counted) {
  fbleprof_attach_lazily = 0;
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
  if (!is_counted) __atomic_fetch_add(&parent->lost_children, 1, __ATOMIC_RELAXED);
  session.arena.adopt(nullptr, 0, 0);
}

// The child is confined like its parent, and making a file takes system calls, even blocking
// signals does: the hooks of a handler may come here at any moment, and only one gives up the file.
void become_confined_process(ThreadState* inherited) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  // What this call interrupted goes on in the parent's file. The child is noticed at its next slow
  // path.
  if (inherited && signal_safe::is_busy(*inherited, here)) return;
  auto* parent = reinterpret_cast<format::Header*>(session.arena.give_up());
  if (!parent) return;
  abandon_all_threads();
  go_on_without_profile(parent, false);
}

// If a signal's handler made this fork, the hook that the signal interrupted starts again when the
// handler returns. The hook's address is in a signal frame above us on the stack.
void restart_interrupted_hooks(const ThreadState& thread) {
  constexpr std::uint64_t kFarthest = 256 << 10;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  if ((thread.record->flags & format::kThreadHooked) == 0 || !thread.current->contains(here))
    return;
  const std::uint64_t end = std::min(end_of_frames(here, thread.current->high), here + kFarthest);
  for (std::uint64_t at = here; at + 3 * sizeof at <= end; at += sizeof at) {
    auto* word = reinterpret_cast<std::uint64_t*>(at);
    const std::uint64_t shift = shift_of_hook(*word), pc = *word - shift;
    if (pc < reinterpret_cast<std::uint64_t>(fbleprof_hooks_begin) ||
        pc >= reinterpret_cast<std::uint64_t>(fbleprof_hooks_end) ||
        !arch::is_pc_of_signal_frame(word)) {
      continue;
    }
    if (const std::uint64_t again = arch::restart_of(pc, fbleprof_hooks_begin)) {
      *word = again + shift;
    }
  }
}

// Replaces the parent's file, which is mapped here too, by a copy at the same address.
bool detach_from_parents_file() {
  char* base = session.arena.base();
  const auto bytes = static_cast<long>(session.arena.cap_bytes());
  const long copy = kernel_call(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arch::kernel_failed(copy)) return false;
  __builtin_memcpy(reinterpret_cast<char*>(copy), base, session.arena.used_bytes());
  return !arch::kernel_failed(kernel_call(
      SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<long>(base)));
}

// The fork was made in a handler that interrupted a slow path, which continues in the child and
// writes to the tree. The child is then noticed later, at its next slow path: its canary stays
// dead.
bool must_wait(ThreadState* inherited) {
  if (!inherited) return false;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  return signal_safe::is_busy(*inherited, here) && detach_from_parents_file();
}

// Where the kernel does not wipe our memory, only forks through libc are noticed, here.
bool is_unnoticed_child() {
  return can_wipe_in_children() ? was_thread_memory_wiped()
                                : newest_thread_memory() && profile.pid != own_pid();
}

// Whether the hooks of a handler, which came before handlers had to wait, have noticed the child.
bool was_noticed_meanwhile(const ThreadState* inherited) {
  return inherited ? fbleprof_hot.self != inherited : !is_unnoticed_child();
}

}  // namespace

void become_own_process(ThreadState* inherited) {
  forget_changes_under_way();
  forget_switches_under_way();
  forget_snapshots_under_way();
  if (inherited) restart_interrupted_hooks(*inherited);
  if (profile.confined) {
    become_confined_process(inherited);
    return;
  }
  if (must_wait(inherited)) return;
  own_signals_in_child();
  leave_signals_to_first_process();
  SamplingBlocked guard;
  // The hooks of a handler would notice the child once more.
  const AllSignalsBlocked handlers_wait(kFaultsOfPeeks);
  if (was_noticed_meanwhile(inherited)) return;
  const bool was_recording = session.recording.exchange(false);
  Inheritance inheritance(inherited);
  profile.parents_file = &inheritance.file();
  abandon_all_threads();
  forget_found_threads();
  forget_unrecorded();
  forget_turns();
  signal_safe::forget_wanted();
  // The code below may call rewritten functions of libc: their hooks must not attach this thread.
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
  profile.finished = profile.is_in_exec = false;
  profile.began_late = true;
  bool is_open = false;
  on_large_stack([&] {
    const OutputFile parent = profile.output;
    const bool is_left_out = !is_wanted(profile.settings);
    is_open = !is_left_out && open_profile(&parent, signal_safe::monotonic_ns());
    if (!is_open) {
      profile.pid = own_pid();
      go_on_without_profile(inheritance.file().header(),
                            is_left_out || profile.output.name.loss_is_counted);
      return;
    }
    add_loaded_modules();
    recognize_prepared();
    inheritance.take_blocks();
  });
  if (!is_open) {
    profile.parents_file = nullptr;
    return;
  }
  fbleprof_hot.self = nullptr;
  if (are_threads_found()) {
    install_handler();  // nothing watched what the child set before
  } else {
    restore_cleared_handler();
    watch_cleared_signals();
  }
  attach_this_thread(inheritance.bounds(), 0);
  // The kernel keeps it across a fork.
  if (const StackBounds stack = inheritance.signal_stack(); stack.high != 0) {
    note_signal_stack(reinterpret_cast<void*>(stack.low), stack.high - stack.low);
  }
  inheritance.replay_stacks();
  profile.parents_file = nullptr;
  inheritance.release();
  session.arena.header()->state = format::State::kLive;
  if (was_recording) start_all_threads(Charged::kFromAttaching);
  go_on_watching();
  recover_sites();
}

void before_fork() {
  // A system call of the program's own made this process, while a thread was opening an event.
  if (!profile.confined && is_unnoticed_child()) forget_timers();
  hold_back_events();
}
void after_fork_in_parent() { let_events_go_on(); }

void after_fork_in_child() {
  forget_timers();
  if (!session.arena.base() || !is_unnoticed_child()) return;
  become_own_process(fbleprof_hot.top ? fbleprof_hot.self : nullptr);
}

bool owns_profile() {
  if (is_own_process()) return true;
  after_fork_in_child();
  return is_own_process();
}

}  // namespace fbleprof::capture
