#include "signal_safe/allocations.h"

#include "arch/hash.h"
#include "signal_safe/allocation_calls.h"
#include "signal_safe/context_at.h"
#include "signal_safe/entries.h"
#include "signal_safe/little_room.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/poisson.h"
#include "signal_safe/session.h"

#define FBLEPROF_FOR_WRAPPERS extern "C" __attribute__((visibility("default")))

namespace fbleprof::signal_safe {

namespace {

using format::Ref;

// The facts that the wrapper knows about its call.
struct Call {
  const std::uint64_t* frame;  // the caller's frame pointer, the return address
  std::uint64_t site() const { return frame[1]; }
  std::uint64_t return_slot() const { return reinterpret_cast<std::uint64_t>(frame + 1); }
  // The caller's state when the wrapper returns.
  MachineState state() const { return {site(), return_slot() + 8, frame[0], 0, nullptr}; }
};

// Samples keep this reading of the clock up to date. Reading a clock here would cost more than all
// the rest.
std::uint64_t coarse_ns(const Session& session) {
  return session.arena.header()->end_monotonic_ns - session.start_monotonic_ns;
}
std::uint32_t birth_now(const Session& session) {
  return static_cast<std::uint32_t>(coarse_ns(session) >> LiveBlocks::kBirthShift) &
         LiveBlocks::kBirthMask;
}

// ---- The level and its peak

void take_peak(Session& session, std::int64_t level) {
  Allocations& all = session.allocations;
  if (all.is_taking.exchange(true, std::memory_order_acquire)) return;
  const std::uint64_t now = session.clocks.wall_ns();
  // A tree that takes long to copy is copied less often: for 2 % of the time, and for some time at
  // the start.
  constexpr std::uint64_t kShare = 50, kAtStartNs = 20'000'000;
  if (level > all.next_peak.load(std::memory_order_relaxed) &&
      all.spent_ns <= kAtStartNs + (now - session.start_monotonic_ns) / kShare) {
    const std::uint32_t next = 1 - all.newest_area;
    if (take_snapshot(session.arena, all.areas[next], format::SnapshotReason::kPeak,
                      now - session.start_monotonic_ns)) {
      withdraw_snapshot(session.arena, all.areas[all.newest_area]);
      all.newest_area = next;
      all.next_peak.store(level + level / 20 + 1, std::memory_order_relaxed);
    }
    all.spent_ns += session.clocks.wall_ns() - now;
  }
  all.is_taking.store(false, std::memory_order_release);
}

void add_to_level(Session& session, std::int64_t bytes) {
  Allocations& all = session.allocations;
  const std::int64_t before = all.level.fetch_add(bytes, std::memory_order_relaxed);
  // Before it falls, too: when it rose, it may have been too early for another copy.
  const std::int64_t level = bytes < 0 ? before : before + bytes;
  if (level > all.next_peak.load(std::memory_order_relaxed)) take_peak(session, level);
}

[[gnu::noinline]] void flush(AllocationThread& own, Session& session) {
  const std::int64_t bytes = own.level;
  own.level = 0;
  add_to_level(session, bytes);
  // All threads together leave less than a hundredth of the level out.
  const std::int64_t level = session.allocations.level.load(std::memory_order_relaxed);
  const std::int64_t share =
      level / 128 / (session.allocations.threads.load(std::memory_order_relaxed) + 1);
  constexpr std::int64_t kLeast = 1024, kMost = 1 << 20;
  own.flush_at = share < kLeast ? kLeast : share > kMost ? kMost : share;
}

void change_level(AllocationThread& own, Session& session, std::int64_t bytes) {
  own.level += bytes;
  if (own.level > own.flush_at || own.level < -own.flush_at) flush(own, session);
}

// ---- The amounts that a context allocated

inline void count(ThreadState& thread, AllocationThread& own, std::uint64_t* values, Ref node,
                  const void* block, std::uint64_t bytes) {
  Session& session = *thread.session;
  bytes = LiveBlocks::kept(bytes);
  values[kAllocations] += 1;
  values[kAllocatedBytes] += bytes;
  values[kSizes + size_class(bytes)] += 1;
  if (!session.allocations.blocks.add(block, {node, bytes, own.number, birth_now(session)})) {
    return;
  }
  change_level(own, session, static_cast<std::int64_t>(bytes));
}

void count_sample(ThreadState& thread, AllocationThread& own, std::uint64_t* values, Ref node,
                  const void* block, std::uint64_t bytes) {
  Session& session = *thread.session;
  const Weight weight = weight_of(bytes, session.options.bytes_per_sample, &own.random);
  if (!session.allocations.sampled.add(
          block, {node, own.number, birth_now(session), weight.count, weight.bytes})) {
    // The table is full. Counted, it would never be freed.
    thread.tree.values_or_root(thread.tree.root())[kUnrecorded] += weight.count;
    return;
  }
  values[kAllocations] += weight.count;
  values[kAllocatedBytes] += weight.bytes;
  values[kSizes + size_class(bytes)] += weight.count;
  values[kAllocationSamples] += 1;
  change_level(own, session, static_cast<std::int64_t>(weight.bytes));
}

// The node, or its nearest caller, that has values.
Ref with_values(const Arena& arena, Ref ref) {
  const auto* node = arena.at<format::Node>(ref);
  for (; node->values == 0 && node->parent != 0; node = arena.at<format::Node>(ref)) {
    ref = node->parent;
  }
  return ref;
}

// ---- Finding the context that allocates

// The entry of the hooked function that the call belongs to; a gate if there is none. As for a
// sample, with the return address for a proof.
Entry* live_entry(ThreadState& thread, const Call& call) {
  Entry* top = filter_by_address(thread.current->gate, thread.hot->top, call.return_slot() + 1);
  const Entry* native = native_below(top);
  if (is_gate(native)) return top;
  CodeMap& code = thread.session->code_map;
  const Ref owner = code.function_at(call.site() - 1);
  if (owner == 0 || is_entry_of(thread, native, owner)) return top;
  if (always_has_entry(thread, owner)) {
    Entry* found = find_owner(thread, top, owner);
    return found != nullptr ? found : top;
  }
  return find_by_walk(thread, top, call.state());
}

KnownAllocation* slot_for(AllocationThread& own, const KnownAllocation& key) {
  const std::uint64_t hash =
      arch::hash_of(key.word ^ key.site, key.return_site ^ key.distance << 40);
  return &own.known[hash % AllocationThread::kKnown];
}

// Remembers the result, if it is "the top" or "the one below the top".
void remember(AllocationThread& own, const KnownAllocation& key, const Entry* live,
              const Entry* top, std::uint64_t* values, Ref node) {
  const bool is_below = live + 1 == top && live->frame != top->frame && !is_gate(live);
  if (live != top && !is_below) return;
  KnownAllocation* known = slot_for(own, key);
  // A handler that interrupts this and allocates must not hit.
  known->word = 0;
  asm volatile("" ::: "memory");
  known->site = key.site;
  known->return_site = key.return_site;
  known->distance = key.distance;
  known->below = live == top ? 0 : live->word;
  known->values = values;
  known->node = node;
  asm volatile("" ::: "memory");
  known->word = key.word;
}

enum class How { kEach, kByChance };

// The slow path: finds the context and charges it. `top` and `key` are what the fast path looked
// up, or null.
[[gnu::noinline]] void record(ThreadState& thread, const Call& call, const void* block,
                              std::uint64_t bytes, How how, const Entry* top,
                              const KnownAllocation* key) {
  if (!thread.canary->alive) {
    // A forked child: attached to its own profile by this call, or to none.
    if (!adopt_forked_child(thread) || fbleprof_hot.self->allocations == nullptr) return;
    return record(*fbleprof_hot.self, call, block, bytes, how, nullptr, nullptr);
  }
  AllocationThread& own = *thread.allocations;
  const std::uint32_t emptied = thread.session->caches_emptied.load(std::memory_order_acquire);
  if (own.emptied != emptied) {
    // Code was unloaded, and other code may be at its addresses.
    for (KnownAllocation& known : own.known) known.word = 0;
    own.emptied = emptied;
  }
  BusyGuard guard(thread);
  if (!guard) {
    thread.tree.values_or_root(thread.tree.root())[kUnrecorded] += 1;
    return;
  }
  // While entries of running functions may be missing, only a walk finds them.
  const bool has_entries = __atomic_load_n(&thread.is_behind, __ATOMIC_RELAXED) == 0;
  const Entry* live = how == How::kEach && has_entries ? live_entry(thread, call) : nullptr;
  Ref node = live != nullptr && !is_gate(live) ? node_of(thread, live) : 0;
  // A profile of the C API begins with an entry of no function.
  const bool is_hooked = node != 0 && node != thread.tree.root();
  if (!is_hooked) {
    call_with_room(thread,
                   [&] { node = context_at(guard, thread, call.state(), Reached::kByReturn); });
  }
  thread.tree.values(guard, node);
  // Without space for the node's values, those of a caller count the block's end, too.
  node = with_values(thread.session->arena, node);
  std::uint64_t* values = values_of(thread.session->arena, node);
  if (how == How::kByChance) return count_sample(thread, own, values, node, block, bytes);
  if (is_hooked && key != nullptr) remember(own, *key, live, top, values, node);
  count(thread, own, values, node, block, bytes);
}

[[gnu::noinline]] void sample(ThreadState& thread, AllocationThread& own, const Call& call,
                              const void* block, std::uint64_t bytes) {
  const std::uint64_t period = thread.session->options.bytes_per_sample;
  if (own.random == 0) {
    // The first allocation of the thread, or of a forked child: no distance was drawn yet.
    own.random = (reinterpret_cast<std::uint64_t>(&own) ^ thread.session->clocks.wall_ns()) | 1;
    next_random(&own.random);
    own.bytes_left += static_cast<std::int64_t>(draw_distance(&own.random, period)) - 1;
    if (own.bytes_left >= 0) return;
  }
  // From the end of the block, however many of its bytes were sampled: the distance does not depend
  // on what came before. So a block of any size costs one draw.
  own.bytes_left = static_cast<std::int64_t>(draw_distance(&own.random, period)) - 1;
  record(thread, call, block, bytes, How::kByChance, nullptr, nullptr);
}

// ---- Freeing a block

struct Freed {
  Ref node;
  std::uint32_t owner, birth;
  bool is_temporary, is_sampled, is_mapping;
  std::uint64_t count, bytes;
};

// The calling thread's; null: it is not profiled.
AllocationThread* own_of_this_thread() {
  return fbleprof_hot.top != nullptr ? fbleprof_hot.self->allocations : nullptr;
}
Session& session_of_this_thread() {
  return fbleprof_hot.top != nullptr ? *fbleprof_hot.self->session : session;
}

void count_freed(Session& session, const Freed& freed) {
  AllocationThread* own = own_of_this_thread();
  std::uint64_t* values = values_of(session.arena, freed.node);
  const std::uint32_t age = (birth_now(session) - freed.birth) & LiveBlocks::kBirthMask;
  const std::uint64_t lived_ns = std::uint64_t{age} << LiveBlocks::kBirthShift;
  const auto bytes = static_cast<std::int64_t>(freed.bytes);
  if (own != nullptr && freed.owner == own->number && freed.owner != 0) {
    values[kFreesHere] += freed.count;
    values[kFreedHereBytes] += freed.bytes;
    values[kLifetimeNs] += lived_ns * freed.count;
    values[kLifetimes + lifetime_class(lived_ns)] += freed.count;
    if (freed.is_temporary) values[kTemporary] += freed.count;
    change_level(*own, session, -bytes);
    return;
  }
  const auto add = [values](std::uint32_t word, std::uint64_t what) {
    __atomic_fetch_add(&values[word], what, __ATOMIC_RELAXED);
  };
  add(kFreesElsewhere, freed.count);
  add(kFreedElsewhereBytes, freed.bytes);
  // The owner may add to these at the same moment, so that one of the two additions is lost.
  // Lifetimes are known to within a sampling period only.
  add(kLifetimeNs, lived_ns * freed.count);
  add(kLifetimes + lifetime_class(lived_ns), freed.count);
  if (freed.is_temporary) add(kTemporary, freed.count);
  if (own != nullptr) {
    change_level(*own, session, -bytes);
  } else {
    add_to_level(session, -bytes);
  }
}

// Whether the thread's last call of the allocator allocated this block.
bool is_newest(const void* block) {
  AllocationThread* own = own_of_this_thread();
  if (own == nullptr) return false;
  const bool result = own->newest == block;
  own->newest = nullptr;
  return result;
}

// Takes a block out of the tables; false: it is in none.
bool take(Session& session, const void* block, Freed* freed) {
  Allocations& all = session.allocations;
  const bool is_temporary = is_newest(block);
  if (all.blocks.is_on()) {
    const LiveBlock found = all.blocks.take(block);
    if (found.node != 0) {
      *freed = {found.node, found.owner, found.birth, is_temporary, false, false, 1, found.bytes};
      return true;
    }
  }
  if (all.sampled.is_on() && all.sampled.may_hold(block)) [[unlikely]] {
    const SampledBlock found = all.sampled.take(block);
    *freed = {found.node, found.owner, found.birth, is_temporary,
              true,       false,       found.count, found.bytes};
    return found.node != 0;
  }
  return false;
}

// ---- Mappings

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + 4095) & ~std::uint64_t{4095}; }

void add_mapping(LiveBlocks& blocks, std::uint64_t begin, const LiveBlock& what) {
  blocks.add(reinterpret_cast<const void*>(begin), what);
  blocks.note_mapping(begin, true);
}

bool take_mapping(Session& session, std::uint64_t begin, Freed* freed) {
  if (session.allocations.blocks.is_on()) session.allocations.blocks.note_mapping(begin, false);
  if (!take(session, reinterpret_cast<const void*>(begin), freed)) return false;
  freed->is_mapping = true;
  return true;
}

// Counts the first `bytes` of a mapping as unmapped. The rest is one that begins there.
void count_unmapped(Session& session, std::uint64_t begin, std::uint64_t bytes, Freed freed) {
  if (!freed.is_sampled && bytes < freed.bytes) {
    add_mapping(session.allocations.blocks, begin + bytes,
                {freed.node, freed.bytes - bytes, freed.owner, freed.birth});
    freed.bytes = bytes;
    freed.count = 0;
  }
  count_freed(session, freed);
}

// Counts what a mapping that begins before `begin` has in [begin, end) as unmapped. What it has
// behind counts as a mapping of its own, because both will end.
void cut_earlier_mapping(Session& session, std::uint64_t begin, std::uint64_t end) {
  LiveBlocks& blocks = session.allocations.blocks;
  std::uint64_t its_begin;
  if (!blocks.last_mapping(begin, &its_begin)) return;
  const auto* memory = reinterpret_cast<const void*>(its_begin);
  // Only read, as long as it may be a mapping of another thread's.
  LiveBlock block = blocks.find(memory);
  const std::uint64_t bytes = block.bytes, before = begin - its_begin;
  if (block.node == 0 || before >= bytes) return;
  block.bytes = before;
  blocks.add(memory, block);
  const std::uint64_t gone = end - begin < bytes - before ? end - begin : bytes - before;
  if (const std::uint64_t rest = bytes - before - gone; rest != 0) {
    block.bytes = rest;
    add_mapping(blocks, end, block);
    std::uint64_t* values = values_of(session.arena, block.node);
    __atomic_fetch_add(&values[kAllocations], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&values[kSizes + size_class(rest)], 1, __ATOMIC_RELAXED);
  }
  count_freed(session, {block.node, block.owner, block.birth, false, false, true, 0, gone});
}

// Counts what is recorded in [begin, end) as unmapped: any parts of any mappings.
void unmap(Session& session, std::uint64_t begin, std::uint64_t end) {
  const LiveBlocks& blocks = session.allocations.blocks;
  Freed freed;
  if (take_mapping(session, begin, &freed)) {
    count_unmapped(session, begin, end - begin, freed);
  } else if (blocks.is_on()) {
    cut_earlier_mapping(session, begin, end);
  }
  std::uint64_t at;
  while (blocks.is_on() && blocks.first_mapping(begin, end, &at)) {
    if (take_mapping(session, at, &freed)) count_unmapped(session, at, end - at, freed);
  }
}

}  // namespace

std::uint64_t* values_of(const Arena& arena, Ref ref) {
  return arena.at<std::uint64_t>(arena.at<format::Node>(with_values(arena, ref))->values);
}

bool Allocations::start(Pages* pages, bool exact, bool by_chance, std::uint32_t least_distance) {
  threads.store(0);
  level.store(0);
  next_peak.store(0);
  is_taking.store(false);
  areas[0] = areas[1] = {};
  newest_area = 0;
  spent_ns = 0;
  return (!exact || blocks.start(pages, least_distance)) && (!by_chance || sampled.start(pages));
}

void start_thread(AllocationThread& own, Session& session) {
  const std::uint32_t number = session.allocations.threads.fetch_add(1) + 1;
  own.number = number < LiveBlocks::kOwners ? number : 0;
}

void flush_level(ThreadState& thread) {
  if (thread.allocations != nullptr) flush(*thread.allocations, *thread.session);
}

}  // namespace fbleprof::signal_safe

using namespace fbleprof::signal_safe;

FBLEPROF_FOR_WRAPPERS void fbleprof_allocated(std::uint64_t frame, const void* block,
                                              std::uint64_t bytes) {
  const Hot& hot = fbleprof_hot;
  if (hot.top == nullptr) return;
  ThreadState& thread = *hot.self;
  AllocationThread* own = thread.allocations;
  if (own == nullptr) return;
  const Session& session = *thread.session;
  if (!session.recording.load(std::memory_order_relaxed)) return;
  own->newest = block;
  const Call call{reinterpret_cast<const std::uint64_t*>(frame)};
  const auto mode = session.options.allocations;
  if (mode != AllocationMode::kSampled) {
    const std::uint64_t slot = call.return_slot();
    const Entry* top = hot.top;
    while (top->frame + FRAME_BIAS <= slot) --top;
    if (!is_gate_word(top->word)) {
      const std::uint64_t return_slot = top->frame + FRAME_BIAS;
      const Stack& stack = *thread.current;
      // If the entries are on another stack, which may be gone, the slot must not be read.
      if (!stack.contains(slot) || return_slot >= stack.high || stack.low == 0) {
        return record(thread, call, block, bytes, How::kEach, nullptr, nullptr);
      }
      KnownAllocation key;
      key.word = top->word;
      key.site = call.site();
      key.return_site = *reinterpret_cast<const std::uint64_t*>(return_slot);
      key.distance = return_slot - slot;
      const KnownAllocation* known = slot_for(*own, key);
      if (known->word == key.word && known->site == key.site &&
          known->return_site == key.return_site && known->distance == key.distance &&
          (known->below == 0 || known->below == top[-1].word) &&
          own->emptied == session.caches_emptied.load(std::memory_order_relaxed)) [[likely]] {
        return count(thread, *own, known->values, known->node, block, bytes);
      }
      return record(thread, call, block, bytes, How::kEach, top, &key);
    }
    if (mode == AllocationMode::kExact) {
      return record(thread, call, block, bytes, How::kEach, nullptr, nullptr);
    }
  }
  own->bytes_left -= static_cast<std::int64_t>(bytes != 0 ? bytes : 1);
  if (own->bytes_left < 0) [[unlikely]]
    sample(thread, *own, call, block, bytes);
}

FBLEPROF_FOR_WRAPPERS void fbleprof_freeing(const void* block) {
  if (block == nullptr) return;
  // Next, the allocator reads its data before the block: let that cache miss overlap with ours.
  __builtin_prefetch(static_cast<const char*>(block) - 16);
  Session& session = session_of_this_thread();
  Freed freed;
  if (take(session, block, &freed)) count_freed(session, freed);
}

static_assert(sizeof(Freed) <= sizeof(fbleprof_taken_block));

FBLEPROF_FOR_WRAPPERS void fbleprof_take_block(const void* block, fbleprof_taken_block* taken) {
  Freed freed{};
  if (block == nullptr || !take(session_of_this_thread(), block, &freed)) freed.node = 0;
  __builtin_memcpy(taken, &freed, sizeof freed);
}

FBLEPROF_FOR_WRAPPERS void fbleprof_taken_was_freed(const fbleprof_taken_block* taken) {
  Freed freed;
  __builtin_memcpy(&freed, taken, sizeof freed);
  if (freed.node != 0) count_freed(session_of_this_thread(), freed);
}

FBLEPROF_FOR_WRAPPERS void fbleprof_put_block_back(const void* block,
                                                   const fbleprof_taken_block* taken) {
  Freed freed;
  __builtin_memcpy(&freed, taken, sizeof freed);
  if (freed.node == 0) return;
  Allocations& all = session_of_this_thread().allocations;
  if (freed.is_sampled) {
    all.sampled.add(block, {freed.node, freed.owner, freed.birth, freed.count, freed.bytes});
  } else {
    all.blocks.add(block, {freed.node, freed.bytes, freed.owner, freed.birth});
    if (freed.is_mapping) all.blocks.note_mapping(reinterpret_cast<std::uint64_t>(block), true);
  }
}

FBLEPROF_FOR_WRAPPERS void fbleprof_mapped(std::uint64_t frame, const void* memory,
                                           std::uint64_t bytes) {
  Session& session = session_of_this_thread();
  if (!session.options.mappings) return;
  fbleprof_unmapping(memory, bytes);  // the mappings that it replaced
  fbleprof_allocated(frame, memory, bytes);
  LiveBlocks& blocks = session.allocations.blocks;
  if (blocks.is_on() && blocks.find(memory).node != 0) {
    blocks.note_mapping(reinterpret_cast<std::uint64_t>(memory), true);
  }
}

FBLEPROF_FOR_WRAPPERS bool fbleprof_take_mapping(const void* memory, fbleprof_taken_block* taken) {
  *taken = {};
  Session& session = session_of_this_thread();
  const Options& options = session.options;
  if (!options.mappings) return false;
  Freed freed;
  if (!take_mapping(session, reinterpret_cast<std::uint64_t>(memory), &freed)) freed = {};
  __builtin_memcpy(taken, &freed, sizeof freed);
  // A mapping that the sampler has left out cannot be told from a file's. The new one is as likely
  // to be picked as any other.
  return freed.node != 0 || options.allocations != AllocationMode::kExact;
}

FBLEPROF_FOR_WRAPPERS void fbleprof_taken_was_unmapped(const void* memory, std::uint64_t bytes,
                                                       const fbleprof_taken_block* taken) {
  Freed freed;
  __builtin_memcpy(&freed, taken, sizeof freed);
  if (freed.node == 0) return;
  count_unmapped(session_of_this_thread(), reinterpret_cast<std::uint64_t>(memory),
                 whole_pages(bytes), freed);
}

FBLEPROF_FOR_WRAPPERS void fbleprof_unmapping(const void* memory, std::uint64_t bytes) {
  Session& session = session_of_this_thread();
  if (!session.options.mappings) return;
  const auto begin = reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t end = begin + whole_pages(bytes);
  if (end > begin) unmap(session, begin, end);
}
