#include "capture/fork_child.h"

#include <sys/mman.h>

#include "arch/kernel.h"
#include "capture/exact.h"
#include "capture/modules.h"
#include "capture/profile.h"
#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::Entry;
using signal_safe::session;
using signal_safe::ThreadState;

namespace {

// What the child has of its parent: the parent's file, still mapped here, and the shadow stack of
// the thread that forked.
class Inheritance {
 public:
  explicit Inheritance(const ThreadState* thread) {
    if (thread) {
      const auto& stack = thread->main_stack;
      gate_ = stack.gate;
      top_ = thread->current == &stack ? fbleprof_hot.top : stack.saved_top;
      bounds_ = {stack.low, stack.high};
    }
    file_.adopt(session.arena.base(), session.arena.cap_bytes(), 0);
  }

  StackBounds bounds() const { return bounds_; }
  signal_safe::Arena& file() { return file_; }

  // The parent's blocks keep their numbers, because the program holds them.
  void take_blocks() const {
    file_.for_each(format::Kind::kFunction, [this](format::Ref ref) {
      const auto* old = file_.at<format::Function>(ref);
      return old->kind != format::FunctionKind::kBlock || take_block(*old);
    });
  }

  // Rebuilds the parent's shadow stack in the calling thread's new tree.
  void replay_stack() const {
    if (!fbleprof_hot.top || !gate_) return;
    ThreadState& state = *fbleprof_hot.self;
    signal_safe::BusyGuard guard(state);
    Entry* top = state.main_stack.gate;
    for (const Entry* entry = gate_ + 1; entry <= top_ && top < state.main_stack.limit; ++entry) {
      const format::Ref function = translate(signal_safe::node_of_word(entry->word));
      if (function == 0) break;
      const signal_safe::Step step = state.tree.enter(guard, signal_safe::node_of(state, top),
                                                      function, 0, format::kEdgeSampled);
      top[1] = {entry->frame, signal_safe::word_of(step.to, state.tree.block_of(step.to))};
      ++top;
    }
    asm volatile("" ::: "memory");
    state.hot->top = top;
  }

  void release() {
    kernel_call(SYS_munmap, reinterpret_cast<long>(file_.base()),
                static_cast<long>(file_.cap_bytes()));
  }

 private:
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
  StackBounds bounds_;
};

// A forked child that cannot have a profile is not recorded. The parent's file is mapped here too,
// but belongs to the parent; the child is only counted there.
void go_on_without_profile(signal_safe::Arena& parent, bool is_counted) {
  fbleprof_attach_lazily = 0;
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
  if (!is_counted) __atomic_fetch_add(&parent.header()->lost_children, 1, __ATOMIC_RELAXED);
  session.arena.adopt(nullptr, 0, 0);
}

}  // namespace

void become_own_process(ThreadState* inherited) {
  if (profile.confined) {
    // The child is confined like its parent, and making a file takes system calls.
    abandon_all_threads();
    go_on_without_profile(session.arena, false);
    return;
  }
  take_pending_signal(nullptr);  // a child starts without pending signals
  SamplingBlocked guard;
  const bool was_recording = session.recording.exchange(false);
  Inheritance inheritance(inherited);
  abandon_all_threads();
  // What follows may call rewritten functions of libc: their hooks must not attach this thread.
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
  profile.finished = false;
  const OutputFile parent = profile.output;
  if (!open_profile(&parent)) {
    go_on_without_profile(inheritance.file(), profile.output.name.loss_is_counted);
    return;
  }
  add_loaded_modules();
  recognize_rewritten();
  inheritance.take_blocks();
  fbleprof_hot.self = nullptr;
  attach_this_thread(inheritance.bounds(), 0);
  inheritance.replay_stack();
  inheritance.release();
  session.arena.header()->state = format::State::kLive;
  if (was_recording) start_all_threads();
}

void before_fork() { hold_back_events(); }
void after_fork_in_parent() { let_events_go_on(); }

void after_fork_in_child() {
  forget_timers();
  if (!session.arena.base() || !were_blocks_wiped()) return;
  become_own_process(fbleprof_hot.top ? fbleprof_hot.self : nullptr);
}

bool owns_profile() {
  if (is_own_process()) return true;
  after_fork_in_child();
  return is_own_process();
}

}  // namespace fbleprof::capture
