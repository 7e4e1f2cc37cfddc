#include "capture/thread_blocks.h"

#include <cstddef>
#include <new>

#include "capture/allocations.h"
#include "capture/own_memory.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::ForkCanary;
using signal_safe::session;
using signal_safe::Slot;
using signal_safe::ThreadState;

namespace {

constexpr std::uint64_t kBlockBytes =
    (sizeof(ThreadBlock) + kPageBytes - 1) / kPageBytes * kPageBytes;
constexpr std::uint64_t kWipedBytes = kPageBytes + signal_safe::kCacheSlots * sizeof(Slot);

std::atomic<ThreadBlock*> all_blocks{nullptr};

// The free blocks, as a stack. Its head holds a block's page number and, in the low bits, a count
// of all changes. Without the count, a thread that was delayed between reading and replacing the
// head would not notice a change that put the same block back on top.
std::atomic<std::uint64_t> free_blocks{0};
constexpr int kCountBits = 28;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

std::uint64_t head_of(ThreadBlock* block, std::uint64_t before) {
  return reinterpret_cast<std::uint64_t>(block) / kPageBytes << kCountBits |
         ((before + 1) & kCountMask);
}
ThreadBlock* block_in(std::uint64_t head) {
  return reinterpret_cast<ThreadBlock*>((head >> kCountBits) * kPageBytes);
}

ThreadBlock* pop_free() {
  std::uint64_t head = free_blocks.load(std::memory_order_acquire);
  ThreadBlock* block;
  do {
    block = block_in(head);
    if (!block) return nullptr;
  } while (!free_blocks.compare_exchange_weak(
      head, head_of(__atomic_load_n(&block->next_free, __ATOMIC_RELAXED), head),
      std::memory_order_acq_rel));
  return block;
}

ThreadBlock* make_block() {
  void* memory = take_memory(kBlockBytes, InChild::kCopied);
  return memory ? new (memory) ThreadBlock : nullptr;
}

// Gives a block everything that a profile needs. A block that could not get all of it tries again
// when it is next taken.
bool complete(ThreadBlock& block) {
  ThreadState& state = block.state;
  if (!state.canary) {
    auto* wiped = static_cast<char*>(take_memory(kWipedBytes, InChild::kWiped));
    if (!wiped) return false;
    state.canary = reinterpret_cast<ForkCanary*>(wiped);
    state.cache = reinterpret_cast<Slot*>(wiped + kPageBytes);
    // `alive` belongs to the thread, this to the process.
    state.canary->reserved[0] = 1;
  }
  if (!provide_allocations(state)) return false;
  const format::Ref record_ref = session.arena.allocate(sizeof(format::Thread));
  if (record_ref == 0 || !state.tree.start(session.trees, record_ref, 0, block.first_links)) {
    return false;
  }
  state.session = &session;
  state.record = session.arena.at<format::Thread>(record_ref);
  state.record->start_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
  session.arena.publish(record_ref, format::Kind::kThread);
  ThreadBlock* newest = all_blocks.load(std::memory_order_relaxed);
  do block.next_all = newest;
  while (!all_blocks.compare_exchange_weak(newest, &block, std::memory_order_release));
  return true;
}

}  // namespace

ThreadBlock* block_of(ThreadStart* start) {
  return reinterpret_cast<ThreadBlock*>(reinterpret_cast<char*>(start) -
                                        offsetof(ThreadBlock, start));
}

ThreadBlock* take_block() {
  ThreadBlock* block = pop_free();
  if (!block) block = make_block();
  if (!block || block->state.record || complete(*block)) return block;
  give_back(block);
  return nullptr;
}

void give_back(ThreadBlock* block) {
  std::uint64_t head = free_blocks.load(std::memory_order_relaxed);
  do __atomic_store_n(&block->next_free, block_in(head), __ATOMIC_RELAXED);
  while (!free_blocks.compare_exchange_weak(head, head_of(block, head), std::memory_order_acq_rel));
}

ThreadBlock* newest_block() { return all_blocks.load(std::memory_order_acquire); }

bool were_blocks_wiped() {
  const ThreadBlock* newest = newest_block();
  return newest && newest->state.canary->reserved[0] == 0;
}

void forget_blocks() {
  all_blocks.store(nullptr, std::memory_order_relaxed);
  free_blocks.store(0, std::memory_order_relaxed);
}

}  // namespace fbleprof::capture
