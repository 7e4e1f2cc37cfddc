#include "capture/green_threads.h"

#include <sys/mman.h>

#include "arch/kernel.h"
#include "capture/profile.h"
#include "signal_safe/entries.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using arch::kernel_call;
using signal_safe::BusyGuard;
using signal_safe::Entry;
using signal_safe::session;
using signal_safe::Stack;
using signal_safe::ThreadState;

// A shadow stack that mirrors no machine stack. Its bounds are the whole address space, so only the
// program switches away from it. Its entries name nodes of one tree: the one in which it last ran.
struct fbleprof_context {
  Stack stack;  // first: a forked child knows only this
  std::uint64_t bytes;
};

namespace {

constexpr std::size_t kDefaultEntries = 65536;
constexpr std::size_t kMostEntries = std::size_t{1} << 28;
using signal_safe::kSlackEntries;
constexpr int kLongestTransplant = 4096;

// Forgets all entries: the next entry is a child of `base`.
void empty(fbleprof_context& context, const ThreadState& thread, format::Ref base) {
  context.stack.saved_top = context.stack.gate;
  context.stack.beyond = 0;
  context.stack.base = base;
  context.stack.tree = thread.tree.root();
  context.stack.file = session.this_file();
}

// The node for the same path in another tree. Paths are found from below and made from above, a
// part at a time: the stack of a coroutine has no room for a long one.
format::Ref transplant(const BusyGuard& guard, signal_safe::CallTree& tree, format::Ref node) {
  constexpr int kPart = 64;
  format::Ref functions[kPart];
  int length = 0;
  for (format::Ref at = node; tree.node_at(at)->parent != 0 && length < kLongestTransplant;
       at = tree.node_at(at)->parent) {
    ++length;
  }
  format::Ref made = tree.root();
  while (length != 0) {
    const int part = (length - 1) % kPart + 1;
    length -= part;
    format::Ref at = node;
    for (int below = 0; below < length; ++below) at = tree.node_at(at)->parent;
    for (int i = part; i-- > 0; at = tree.node_at(at)->parent) functions[i] = tree.function_of(at);
    for (int i = 0; i < part; ++i) {
      made = tree.enter(guard, made, functions[i], 0, format::kEdgeSampled).to;
    }
  }
  return made;
}

// Replaces the nodes that a stack's entries name by the nodes for the same paths in another tree.
__attribute__((noinline)) void move_entries(const BusyGuard& guard, Stack& stack,
                                            signal_safe::CallTree& tree) {
  format::Ref below = stack.base;
  stack.base = transplant(guard, tree, stack.base);
  format::Ref at = stack.base;
  for (Entry* entry = stack.gate + 1; entry <= stack.saved_top; ++entry) {
    const format::Ref node = signal_safe::node_of_word(entry->word);
    if (node == below) {
      // The entry of a left-out function, or recursion that is folded into its caller's context.
      entry->word = signal_safe::word_of(at, arch::block_of(entry->word));
      continue;
    }
    below = node;
    // A root among the entries marks where another profile began.
    at = tree.node_at(node)->parent == 0
             ? tree.root()
             : tree.enter(guard, at, tree.function_of(node), 0, format::kEdgeSampled).to;
    entry->word = signal_safe::word_in(tree, at);
  }
  stack.tree = tree.root();
}

// The context continues in another thread: replaces its entries' nodes by that thread's.
__attribute__((noinline)) void move_to_tree(const BusyGuard& guard, fbleprof_context& context,
                                            ThreadState& thread) {
  signal_safe::CallTree& tree = thread.tree;
  if (context.stack.file != session.this_file()) return empty(context, thread, tree.root());
  move_entries(guard, context.stack, tree);
}

// The calling thread, if it is recorded.
ThreadState* this_thread() {
  if (!fbleprof_hot.top || !signal_safe::is_own(*fbleprof_hot.self)) return nullptr;
  return fbleprof_hot.self;
}

}  // namespace

namespace fbleprof::capture {
void bind_to_machine_stack(fbleprof_context* context, std::uint64_t low, std::uint64_t bytes) {
  context->stack.low = low;
  context->stack.high = low + bytes;
}

bool bind_anew(fbleprof_context* context, std::uint64_t bytes, format::Ref base) {
  Stack& stack = context->stack;
  const auto room = static_cast<std::uint64_t>(stack.limit - stack.gate);
  if (bytes / sizeof(std::uint64_t) > room || fbleprof_hot.self->context == context) return false;
  stack.high = stack.low + bytes;
  begin_anew(context, base);
  return true;
}

std::uint64_t bound_bytes(const fbleprof_context* context) {
  return context->stack.high - context->stack.low;
}

void begin_anew(fbleprof_context* context, format::Ref base) {
  empty(*context, *fbleprof_hot.self, base);
}

void drop_below(fbleprof_context* context, std::uint64_t sp) {
  Stack& stack = context->stack;
  while (stack.saved_top->frame + FRAME_BIAS < sp) --stack.saved_top;
}

fbleprof_context* make_context(std::size_t most_entries, format::Ref base) {
  if (most_entries == 0) most_entries = kDefaultEntries;
  if (most_entries > kMostEntries) most_entries = kMostEntries;
  const std::uint64_t bytes =
      (sizeof(fbleprof_context) + (most_entries + 1 + kSlackEntries) * sizeof(Entry) + 4095) /
      4096 * 4096;
  if (profile.confined) return nullptr;
  const long memory = kernel_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arch::kernel_failed(memory)) return nullptr;
  auto* context = reinterpret_cast<fbleprof_context*>(memory);
  context->bytes = bytes;
  Stack& stack = context->stack;
  stack.low = 0;
  stack.high = ~std::uint64_t{0};
  stack.gate = reinterpret_cast<Entry*>(context + 1);
  stack.gate[0] = {signal_safe::kNoFrame, signal_safe::kGateWord};
  stack.limit = stack.gate + most_entries;
  empty(*context, *fbleprof_hot.self, base);
  return context;
}
}  // namespace fbleprof::capture

fbleprof_context* fbleprof_context_new(size_t most_entries) {
  ThreadState* thread = this_thread();
  if (!thread) return nullptr;
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  const Entry* caller = fbleprof_hot.top;
  {
    BusyGuard guard(*thread);
    if (guard) caller = signal_safe::caller_of_api(*thread, FBLEPROF_OWN_FRAME, at);
  }
  return capture::make_context(most_entries, signal_safe::node_of(*thread, caller));
}

// A sample that interrupts this finds the thread busy and only charges overhead, to the node that
// `top` names or to a stack's base; all of them are nodes of this thread's tree at any moment.
fbleprof_context* fbleprof_context_switch(fbleprof_context* to) {
  ThreadState* thread = this_thread();
  if (!thread || to == FBLEPROF_NOT_SWITCHED) return FBLEPROF_NOT_SWITCHED;
  BusyGuard busy(*thread);
  if (!busy) return FBLEPROF_NOT_SWITCHED;
  auto* from = static_cast<fbleprof_context*>(thread->context);
  if (to == from) return from;
  Stack& stack = to ? to->stack : thread->main_stack;
  thread->current->saved_top = thread->hot->top;
  if (stack.tree != thread->tree.root() || stack.file != session.this_file()) {
    if (to) {
      move_to_tree(busy, *to, *thread);
    } else {
      move_entries(busy, stack, thread->tree);
      // A root gate stands for the root of the process's own tree only.
      stack.gate->word =
          thread->profiles == 0 ? signal_safe::kRootGateWord : signal_safe::kGateWord;
    }
  }
  asm volatile("" ::: "memory");
  thread->current = &stack;
  thread->context = to;
  asm volatile("" ::: "memory");
  // While top and limit are of different stacks, a handler's hooks push nothing.
  thread->hot->limit = nullptr;
  asm volatile("" ::: "memory");
  thread->hot->top = stack.saved_top;
  asm volatile("" ::: "memory");
  thread->hot->limit = stack.limit;
  return from;
}

fbleprof_context* fbleprof_context_current() {
  ThreadState* thread = this_thread();
  return thread ? static_cast<fbleprof_context*>(thread->context) : FBLEPROF_NOT_SWITCHED;
}

int fbleprof_context_reset(fbleprof_context* context) {
  ThreadState* thread = this_thread();
  if (!thread || !context || context == FBLEPROF_NOT_SWITCHED || thread->context == context) {
    return -1;
  }
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  BusyGuard guard(*thread);
  if (!guard) return -1;
  const Entry* caller = signal_safe::caller_of_api(*thread, FBLEPROF_OWN_FRAME, at);
  empty(*context, *thread, signal_safe::node_of(*thread, caller));
  return 0;
}

void fbleprof_context_free(fbleprof_context* context) {
  if (!context || context == FBLEPROF_NOT_SWITCHED || capture::profile.confined) return;
  if (fbleprof_hot.top) {
    const ThreadState& thread = *fbleprof_hot.self;
    if (thread.context == context) return;
    // A profile that began on this stack has not ended.
    for (std::uint32_t i = 0; i < thread.profiles; ++i) {
      if (thread.profile_frames[i].stack == &context->stack) return;
    }
  }
  kernel_call(SYS_munmap, reinterpret_cast<long>(context), static_cast<long>(context->bytes));
}
