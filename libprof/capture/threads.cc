#include "capture/threads.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <atomic>
#include <new>

#include "capture/sampling_timer.h"
#include "capture/signals.h"
#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::CallTree;
using signal_safe::Entry;
using signal_safe::ForkCanary;
using signal_safe::kernel_call;
using signal_safe::kernel_failed;
using signal_safe::kGateWord;
using signal_safe::kNoFrame;
using signal_safe::kRootGateWord;
using signal_safe::session;
using signal_safe::Slot;
using signal_safe::Stack;
using signal_safe::ThreadState;
using signal_safe::Word;

namespace {

// One mapping a thread: its state, the tables of its tree. Touched as far as it is used.
struct ThreadBlock {
  ThreadState state;
  ThreadBlock* next_free = nullptr;
  ThreadBlock* next_all = nullptr;
  std::atomic<bool> attached{false};
  void* wiped_in_child = nullptr;  // ForkCanary and cache
  Entry* shadow = nullptr;
  std::uint64_t shadow_bytes = 0;
  Entry* signal_shadow = nullptr;
  std::uint64_t signal_shadow_bytes = 0;
};

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBlockBytes = (sizeof(ThreadBlock) + kPage - 1) / kPage * kPage;
constexpr std::uint64_t kWipedBytes = kPage + signal_safe::kCacheSlots * sizeof(Slot);
constexpr std::uint64_t kSlackEntries = 64;
// A machine stack of n bytes holds at most n / 8 return addresses, an entry each of 16 bytes: a
// shadow of twice the stack cannot be overrun by native frames. The slack is for stacks that nobody
// told us of, and for the C API, which is checked.
constexpr std::uint64_t kShadowSlackBytes = 1 << 20;
constexpr std::uint64_t kLeastMainShadowBytes = 256ull << 20;
constexpr std::uint64_t kMostShadowBytes = 4ull << 30;

ThreadBlock* all_blocks = nullptr;
ThreadBlock* free_blocks = nullptr;
std::atomic_flag list_lock = ATOMIC_FLAG_INIT;
constinit Settings settings_copy;
bool perf_allowed = true;
Slot* empty_cache = nullptr;  // what hooks look up in while stopped

// Held for a few instructions, with the sampling signal blocked. Hooks never take it but at a
// thread's first one.
class ListLock {
 public:
  ListLock() {
    while (list_lock.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~ListLock() { list_lock.clear(std::memory_order_release); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;
};

void* reserve(std::uint64_t bytes) {
  const long at = kernel_call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return kernel_failed(at) ? nullptr : reinterpret_cast<void*>(at);
}

void release(void* at, std::uint64_t bytes) {
  if (at) kernel_call(SYS_munmap, reinterpret_cast<long>(at), static_cast<long>(bytes));
}

void reset_block(ThreadBlock& block) {
  block.state.main_stack = {};
  block.state.signal_stack.low = block.state.signal_stack.high = 0;
  block.state.busy = 0;
}

// Shadow memory for a machine stack; keeps what there is if it is enough.
bool provide_shadow(Entry** shadow, std::uint64_t* bytes, std::uint64_t wanted) {
  if (*shadow && *bytes >= wanted) return true;
  release(*shadow, *bytes);
  *shadow = static_cast<Entry*>(reserve(wanted));
  *bytes = *shadow ? wanted : 0;
  return *shadow != nullptr;
}

void set_up_stack(Stack& stack, Word gate, Entry* shadow, std::uint64_t bytes) {
  shadow[0] = {kNoFrame, gate};
  stack.gate = shadow;
  stack.limit = shadow + bytes / sizeof(Entry) - kSlackEntries;
  stack.saved_top = shadow;
}

void destroy_block(ThreadBlock* block) {
  release(block->wiped_in_child, kWipedBytes);
  release(block->shadow, block->shadow_bytes);
  release(block, kBlockBytes + CallTree::kChunkRefBytes + CallTree::kHintBytes);
}

ThreadBlock* make_block() {
  auto* memory =
      static_cast<char*>(reserve(kBlockBytes + CallTree::kChunkRefBytes + CallTree::kHintBytes));
  if (!memory) return nullptr;
  auto* block = new (memory) ThreadBlock;
  block->wiped_in_child = reserve(kWipedBytes);
  const bool wiped =
      block->wiped_in_child &&
      !kernel_failed(kernel_call(SYS_madvise, reinterpret_cast<long>(block->wiped_in_child),
                                 kWipedBytes, MADV_WIPEONFORK));
  const format::Ref record_ref = session.arena.allocate(sizeof(format::Thread), 0);
  auto* refs = reinterpret_cast<format::Ref*>(memory + kBlockBytes);
  auto* hints = reinterpret_cast<format::Ref*>(memory + kBlockBytes + CallTree::kChunkRefBytes);
  if (!wiped || record_ref == 0 || !block->state.tree.start(refs, hints)) {
    destroy_block(block);
    return nullptr;
  }
  ThreadState& state = block->state;
  state.canary = static_cast<ForkCanary*>(block->wiped_in_child);
  state.cache = reinterpret_cast<Slot*>(static_cast<char*>(block->wiped_in_child) + kPage);
  state.record = session.arena.at<format::Thread>(record_ref);
  state.record->root = state.tree.root();
  state.record->start_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
  signal_safe::push_front(&session.arena.header()->first_thread, &state.record->next, record_ref);
  ListLock lock;
  block->next_all = all_blocks;
  all_blocks = block;
  return block;
}

ThreadBlock* take_block() {
  {
    ListLock lock;
    if (ThreadBlock* block = free_blocks) {
      free_blocks = block->next_free;
      return block;
    }
  }
  return make_block();
}

void give_up_on_this_thread() {
  __atomic_fetch_add(&session.arena.header()->lost_threads, 1, __ATOMIC_RELAXED);
  fbleprof_hot.self = reinterpret_cast<ThreadState*>(1);
}

std::uint64_t shadow_bytes_for(StackBounds bounds, bool is_main) {
  std::uint64_t bytes = 2 * (bounds.high - bounds.low) + kShadowSlackBytes;
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (is_main && !limited && bytes < kLeastMainShadowBytes) bytes = kLeastMainShadowBytes;
  if (limited && bytes > limit.rlim_cur / 16) bytes = limit.rlim_cur / 16 / kPage * kPage;
  if (bytes > kMostShadowBytes) bytes = kMostShadowBytes;
  return bytes < kShadowSlackBytes ? kShadowSlackBytes : bytes;
}

ThreadBlock* block_of(ThreadState* state) {
  // The state is the block's first member.
  return reinterpret_cast<ThreadBlock*>(state);
}

}  // namespace

void configure_threads(const Settings& settings, bool allow_perf) {
  settings_copy = settings;
  perf_allowed = allow_perf;
  if (!empty_cache) {
    empty_cache = static_cast<Slot*>(reserve(signal_safe::kCacheSlots * sizeof(Slot)));
  }
}

void attach_this_thread(StackBounds bounds, std::uint64_t cpu_from_ns) {
  if (fbleprof_hot.self || !session.arena.base()) return;
  const auto pid = kernel_call(SYS_getpid), tid = kernel_call(SYS_gettid);
  ThreadBlock* block = take_block();
  if (!block) return give_up_on_this_thread();
  reset_block(*block);
  ThreadState& state = block->state;
  if (!provide_shadow(&block->shadow, &block->shadow_bytes, shadow_bytes_for(bounds, pid == tid))) {
    ListLock lock;
    block->next_free = free_blocks;
    free_blocks = block;
    return give_up_on_this_thread();
  }
  state.hot = &fbleprof_hot;
  state.tid = static_cast<std::uint32_t>(tid);
  state.main_stack.low = bounds.low;
  state.main_stack.high = bounds.high ? bounds.high : ~std::uint64_t{0};
  state.main_stack.base = state.tree.root();
  set_up_stack(state.main_stack, kRootGateWord, block->shadow, block->shadow_bytes);
  state.current = &state.main_stack;
  state.canary->alive = 1;
  state.record->tid = state.tid;
  state.record->flags |= format::kThreadRunning;
  state.record->end_ns = 0;
  state.record->threads_served += 1;
  prctl(PR_GET_NAME, state.record->name);
  state.last_cpu_ns = cpu_from_ns;
  state.in_kernel_ns = 0;
  state.last_context = 0;
  state.last_wall_ns = pid == tid ? session.start_monotonic_ns : signal_safe::monotonic_ns();
  if (settings_copy.recording.clock != format::Clock::kTicks) {
    SamplingBlocked guard;
    const auto source = arm_timer(state, kSamplingSignal, settings_copy.rate_hz, perf_allowed);
    auto* header = session.arena.header();
    if (header->source == format::SampleSource::kNone) header->source = source;
  }
  block->attached.store(true, std::memory_order_release);
  fbleprof_hot.cache = session.recording.load() ? state.cache : empty_cache;
  fbleprof_hot.limit = state.main_stack.limit;
  fbleprof_hot.self = &state;
  asm volatile("" ::: "memory");
  fbleprof_hot.top = state.main_stack.gate;
}

void detach_this_thread(bool for_good) {
  if (!fbleprof_hot.top) return;
  ThreadState& state = *fbleprof_hot.self;
  SamplingBlocked guard;
  disarm_timer(state);
  drain_pending();
  if (state.canary->alive) {
    signal_safe::charge_rest(state);
    prctl(PR_GET_NAME, state.record->name);
    state.record->end_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
    state.record->flags &= ~format::kThreadRunning;
  }
  fbleprof_hot.top = nullptr;
  asm volatile("" ::: "memory");
  fbleprof_hot.self = for_good ? reinterpret_cast<ThreadState*>(1) : nullptr;
  ThreadBlock* block = block_of(&state);
  block->attached.store(false, std::memory_order_release);
  ListLock lock;
  block->next_free = free_blocks;
  free_blocks = block;
}

void for_each_attached(void (*function)(ThreadState& thread, void* argument), void* argument) {
  ListLock lock;
  for (ThreadBlock* block = all_blocks; block; block = block->next_all) {
    if (block->attached.load(std::memory_order_acquire)) function(block->state, argument);
  }
}

void abandon_all_threads() {
  // The parent's lists may have been copied in the middle of a change. Their memory is
  // copy-on-write and stays as it is.
  list_lock.clear();
  all_blocks = free_blocks = nullptr;
  fbleprof_hot = {};
}

void charge_rest_of_this_thread() {
  if (!fbleprof_hot.top || !fbleprof_hot.self->canary->alive) return;
  SamplingBlocked guard;
  signal_safe::charge_rest(*fbleprof_hot.self);
}

void note_signal_stack(void* base, std::uint64_t bytes) {
  if (!fbleprof_hot.top) return;
  ThreadState& state = *fbleprof_hot.self;
  ThreadBlock* block = block_of(&state);
  SamplingBlocked guard;
  const std::uint64_t wanted = 2 * bytes + kPage;
  if (!base || state.current == &state.signal_stack ||
      !provide_shadow(&block->signal_shadow, &block->signal_shadow_bytes, wanted)) {
    if (!base) state.signal_stack.low = state.signal_stack.high = 0;
    return;
  }
  set_up_stack(state.signal_stack, kGateWord, block->signal_shadow, block->signal_shadow_bytes);
  state.signal_stack.low = reinterpret_cast<std::uint64_t>(base);
  state.signal_stack.high = state.signal_stack.low + bytes;
}

void stop_all_threads() {
  session.recording.store(false);
  for_each_attached(
      [](ThreadState& thread, void*) {
        __atomic_store_n(&thread.hot->cache, empty_cache, __ATOMIC_RELEASE);
      },
      nullptr);
}

void start_all_threads() {
  for_each_attached(
      [](ThreadState& thread, void*) {
        __atomic_store_n(&thread.hot->cache, thread.cache, __ATOMIC_RELEASE);
      },
      nullptr);
  session.recording.store(true);
}

void forget_code() {
  session.caches_emptied.fetch_add(1, std::memory_order_seq_cst);
  // Of threads that have ended, too: the next ones get their caches as they are.
  ListLock lock;
  for (ThreadBlock* block = all_blocks; block; block = block->next_all) {
    // A slot does not say its call site by itself, so all go. The owner may be filling one at
    // this moment: with code that is still there, which is right, or with what it moves from
    // another slot, which it takes back then.
    Slot* cache = block->state.cache;
    for (std::size_t i = 0; i < signal_safe::kCacheSlots; ++i) {
      if (cache[i].tag != 0) __atomic_store_n(&cache[i].tag, 0, __ATOMIC_RELEASE);
    }
  }
}

}  // namespace fbleprof::capture
