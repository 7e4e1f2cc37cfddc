#include "capture/thread_memory.h"

#include <sys/resource.h>

#include <cstddef>
#include <new>

#include "capture/allocations.h"
#include "capture/own_memory.h"
#include "capture/waits.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::ForkCanary;
using signal_safe::session;
using signal_safe::Slot;
using signal_safe::ThreadState;

namespace {

// A sample takes some 5 kB, with all that it may call and another signal frame below 24 kB.
using signal_safe::kSampleStackBytes;
// Its pages are not touched unless a sample needs them.
constexpr std::uint64_t kMemoryBytes =
    (sizeof(ThreadMemory) + kPageBytes - 1) / kPageBytes * kPageBytes + kSampleStackBytes;
constexpr std::uint64_t wiped_bytes(std::uint64_t cache_slots) {
  return kPageBytes + cache_slots * sizeof(Slot);
}

std::atomic<ThreadMemory*> all_memory{nullptr};

// What is free, as a stack. Its head holds the page number of a ThreadMemory and, in the low bits,
// a count of all changes. Without the count, a thread that was delayed between reading and
// replacing the head would not notice a change that put the same one back on top.
std::atomic<std::uint64_t> free_memory{0};
constexpr int kCountBits = 28;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

std::uint64_t head_of(ThreadMemory* memory, std::uint64_t before) {
  return reinterpret_cast<std::uint64_t>(memory) / kPageBytes << kCountBits |
         ((before + 1) & kCountMask);
}
ThreadMemory* memory_in(std::uint64_t head) {
  return reinterpret_cast<ThreadMemory*>((head >> kCountBits) * kPageBytes);
}

ThreadMemory* pop_free() {
  std::uint64_t head = free_memory.load(std::memory_order_acquire);
  ThreadMemory* memory;
  do {
    memory = memory_in(head);
    if (!memory) return nullptr;
  } while (!free_memory.compare_exchange_weak(
      head, head_of(__atomic_load_n(&memory->next_free, __ATOMIC_RELAXED), head),
      std::memory_order_acq_rel));
  return memory;
}

ThreadMemory* make_memory() {
  auto* pages = static_cast<char*>(take_memory(kMemoryBytes, InChild::kCopied));
  if (!pages) return nullptr;
  auto* memory = new (pages) ThreadMemory;
  memory->state.sample_stack_end = pages + kMemoryBytes;
  return memory;
}

// Gives it everything that a profile needs. If some of that is missing, the next owner tries again.
bool complete(ThreadMemory& memory) {
  ThreadState& state = memory.state;
  if (!state.canary) {
    state.cache_may_grow = limit_of_memory() == RLIM_INFINITY &&
                           session.empty_cache_slots == signal_safe::kMostCacheSlots;
    const std::uint64_t slots =
        state.cache_may_grow ? signal_safe::kMostCacheSlots : signal_safe::kFirstCacheSlots;
    auto* wiped = static_cast<char*>(take_memory(wiped_bytes(slots), InChild::kWiped));
    if (!wiped) return false;
    state.canary = reinterpret_cast<ForkCanary*>(wiped);
    state.cache.slots = reinterpret_cast<Slot*>(wiped + kPageBytes);
    // `alive` belongs to the thread, `reserved` to the process.
    state.canary->reserved[0] = 1;
  }
  if (!provide_allocations(state) || !provide_waits(state)) return false;
  const format::Ref record_ref = session.arena.allocate(sizeof(format::Thread));
  if (record_ref == 0 || !state.tree.start(session.trees, record_ref, 0, memory.first_links)) {
    return false;
  }
  state.session = &session;
  state.record = session.arena.at<format::Thread>(record_ref);
  state.record->start_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
  session.arena.publish(record_ref, format::Kind::kThread);
  ThreadMemory* newest = all_memory.load(std::memory_order_relaxed);
  do memory.next_all = newest;
  while (!all_memory.compare_exchange_weak(newest, &memory, std::memory_order_release));
  return true;
}

}  // namespace

ThreadMemory* memory_of(ThreadStart* start) {
  return reinterpret_cast<ThreadMemory*>(reinterpret_cast<char*>(start) -
                                         offsetof(ThreadMemory, start));
}

ThreadMemory* take_thread_memory() {
  ThreadMemory* memory = pop_free();
  if (!memory) memory = make_memory();
  if (!memory || memory->state.record || complete(*memory)) return memory;
  give_back(memory);
  return nullptr;
}

void give_back(ThreadMemory* memory) {
  std::uint64_t head = free_memory.load(std::memory_order_relaxed);
  do __atomic_store_n(&memory->next_free, memory_in(head), __ATOMIC_RELAXED);
  while (
      !free_memory.compare_exchange_weak(head, head_of(memory, head), std::memory_order_acq_rel));
}

ThreadMemory* newest_thread_memory() { return all_memory.load(std::memory_order_acquire); }

bool was_thread_memory_wiped() {
  const ThreadMemory* newest = newest_thread_memory();
  return newest && newest->state.canary->reserved[0] == 0;
}

void forget_thread_memory() {
  all_memory.store(nullptr, std::memory_order_relaxed);
  free_memory.store(0, std::memory_order_relaxed);
}

}  // namespace fbleprof::capture
