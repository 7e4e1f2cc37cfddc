#include "capture/contexts.h"

#include <sys/mman.h>

#include "arch/kernel.h"
#include "capture/signals.h"
#include "signal_safe/session.h"
#include "signal_safe/thread_state.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using arch::kernel_call;
using signal_safe::Entry;
using signal_safe::session;
using signal_safe::Stack;
using signal_safe::ThreadState;

// A stack without a machine stack. Its bounds are the whole address space, so only the program
// switches away from it. Its entries name nodes in the tree of the thread in which it last ran.
struct fbleprof_context {
  Stack stack;
  const signal_safe::CallTree* tree;
  std::uint64_t bytes;
};

namespace {

constexpr std::size_t kDefaultEntries = 65536;
constexpr std::size_t kMostEntries = std::size_t{1} << 28;
constexpr std::size_t kSlackEntries = 64;
constexpr int kLongestTransplant = 4096;

// The node of the same path in another tree.
format::Ref transplant(const signal_safe::BusyGuard& guard, signal_safe::CallTree& tree,
                       format::Ref node, int depth) {
  const format::Node* n = tree.node_at(node);
  if (n->parent == 0 || depth > kLongestTransplant) return tree.root();
  const format::Ref parent = transplant(guard, tree, n->parent, depth + 1);
  return tree.enter(guard, parent, n->function, 0, format::kEdgeSampled).to;
}

// The context continues in another thread: replaces its entries' nodes by that thread's.
void move_to_tree(const signal_safe::BusyGuard& guard, fbleprof_context& context,
                  signal_safe::CallTree& tree) {
  context.stack.base = transplant(guard, tree, context.stack.base, 0);
  format::Ref at = context.stack.base;
  for (Entry* entry = context.stack.gate + 1; entry <= context.stack.saved_top; ++entry) {
    const format::Ref function = tree.function_of(signal_safe::node_of_word(entry->word));
    at = tree.enter(guard, at, function, 0, format::kEdgeSampled).to;
    entry->word = signal_safe::word_of(at, tree.block_of(at));
  }
  context.tree = &tree;
}

}  // namespace

namespace fbleprof::capture {
void bind_to_machine_stack(fbleprof_context* context, std::uint64_t low, std::uint64_t bytes) {
  context->stack.low = low;
  context->stack.high = low + bytes;
}

bool bind_anew(fbleprof_context* context, std::uint64_t bytes) {
  Stack& stack = context->stack;
  const auto room = static_cast<std::uint64_t>(stack.limit - stack.gate);
  if (bytes / sizeof(std::uint64_t) > room || fbleprof_hot.self->context == context) return false;
  stack.saved_top = stack.gate;
  stack.high = stack.low + bytes;
  stack.base = signal_safe::node_of(*fbleprof_hot.self, fbleprof_hot.top);
  context->tree = &fbleprof_hot.self->tree;
  return true;
}

std::uint64_t bound_bytes(const fbleprof_context* context) {
  return context->stack.high - context->stack.low;
}

void drop_below(fbleprof_context* context, std::uint64_t sp) {
  Stack& stack = context->stack;
  while (stack.saved_top->frame + FRAME_BIAS < sp) --stack.saved_top;
}
}  // namespace fbleprof::capture

fbleprof_context* fbleprof_context_new(size_t most_entries) {
  if (!fbleprof_hot.top) return nullptr;
  if (most_entries == 0) most_entries = kDefaultEntries;
  if (most_entries > kMostEntries) most_entries = kMostEntries;
  const std::uint64_t bytes =
      (sizeof(fbleprof_context) + (most_entries + 1 + kSlackEntries) * sizeof(Entry) + 4095) /
      4096 * 4096;
  const long memory = kernel_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arch::kernel_failed(memory)) return nullptr;
  auto* context = reinterpret_cast<fbleprof_context*>(memory);
  ThreadState& thread = *fbleprof_hot.self;
  context->bytes = bytes;
  context->tree = &thread.tree;
  Stack& stack = context->stack;
  stack.low = 0;
  stack.high = ~std::uint64_t{0};
  stack.gate = reinterpret_cast<Entry*>(context + 1);
  stack.gate[0] = {signal_safe::kNoFrame, signal_safe::kGateWord};
  stack.limit = stack.gate + most_entries;
  stack.saved_top = stack.gate;
  stack.base = signal_safe::node_of(thread, thread.hot->top);
  return context;
}

fbleprof_context* fbleprof_context_switch(fbleprof_context* to) {
  if (!fbleprof_hot.top || !fbleprof_hot.self->canary->alive) return nullptr;
  ThreadState& thread = *fbleprof_hot.self;
  capture::SamplingBlocked guard;
  signal_safe::BusyGuard busy(thread);
  if (!busy) return nullptr;
  auto* from = static_cast<fbleprof_context*>(thread.context);
  if (to == from) return from;
  if (to && to->tree != &thread.tree) move_to_tree(busy, *to, thread.tree);
  Stack& stack = to ? to->stack : thread.main_stack;
  thread.current->saved_top = thread.hot->top;
  thread.current = &stack;
  thread.context = to;
  thread.hot->limit = stack.limit;
  thread.hot->top = stack.saved_top;
  return from;
}

void fbleprof_context_free(fbleprof_context* context) {
  if (!context || (fbleprof_hot.top && fbleprof_hot.self->context == context)) return;
  kernel_call(SYS_munmap, reinterpret_cast<long>(context), static_cast<long>(context->bytes));
}
