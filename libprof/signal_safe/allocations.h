// Records allocations by the context that allocates.
//
// In hooked code each allocation is charged to the live entry of the shadow stack, exactly. Finding
// that entry takes a proof: a stale one survives where `new` calls malloc deeper than the function
// that returned. So a cache per thread remembers the result of a proof, under everything that the
// proof depended on: the top entry's word, the call site, the content of the top entry's
// return-address slot, and the distance to that slot. The same key means the same answer: "the top
// is live", or "it is stale, and the one below is live". Code without hooks below a hooked function
// (a library that allocates) is charged to that function.
//
// In other code the stack is walked: for each allocation (kExact), or for one in so many bytes,
// which then stands for others (see poisson.h).
//
// Costs nothing when off, because the functions that call this are in a separate library, which is
// loaded only if allocations are recorded. See preload/allocations.
#pragma once

#include <atomic>
#include <cstdint>

#include "signal_safe/live_blocks.h"
#include "signal_safe/sampled_blocks.h"
#include "signal_safe/shadow_stack.h"
#include "signal_safe/snapshot.h"

namespace fbleprof::signal_safe {

struct Session;
struct ThreadState;

// The result of a proof.
struct KnownAllocation {
  // The key. A word of 0 is none.
  Word word;                  // of the top entry that the address filter leaves
  std::uint64_t site;         // the return address of the call of the allocator
  std::uint64_t return_site;  // the content of the entry's return-address slot
  std::uint64_t distance;     // from that slot to the allocator's
  Word below;                 // 0: the top is live; else it is stale, and the one below, with
                              // this word, is live
  std::uint64_t* values;      // of the live one's node
  format::Ref node;
  std::uint32_t reserved;
};
static_assert(sizeof(KnownAllocation) == 56);

// A thread's own part. The kernel wipes it in a forked child: no key is found there, and the slow
// path notices the fork.
struct AllocationThread {
  static constexpr std::uint32_t kKnown = 4096;

  std::int64_t bytes_left;  // before the next sampled byte
  std::uint64_t random;     // 0: no distance drawn yet
  const void* newest;       // the block that the thread's last allocator call allocated
  std::int64_t level;       // bytes allocated and not freed, not in Allocations::level yet
  std::int64_t flush_at;    // level at which they are added
  std::uint32_t number;     // below LiveBlocks::kOwners; 0 = none
  std::uint32_t emptied;    // Session::caches_emptied when `known` was filled
  KnownAllocation known[kKnown];
};

// The part that all threads share, in the session.
struct Allocations {
  LiveBlocks blocks;
  SampledBlocks sampled;
  std::atomic<std::uint32_t> threads{0};

  // The peak: a snapshot is taken when the level is 5 % above the level of the last one.
  std::atomic<std::int64_t> level{0};
  std::atomic<std::int64_t> next_peak{0};
  std::atomic<bool> is_taking{false};
  SnapshotArea areas[2];
  std::uint32_t newest_area = 0;
  std::uint64_t spent_ns = 0;  // on snapshots

  // Starts empty. Not thread-safe. `least_distance`: see LiveBlocks. False: there is no memory.
  bool start(Pages* pages, bool exact, bool by_chance, std::uint32_t least_distance);
};

// Gives a thread its number. `own` is zeroed memory.
void start_thread(AllocationThread& own, Session& session);

// Adds the thread's level to the common level. At ends, and where the level must be exact.
void flush_level(ThreadState& thread);

// A node's values, or those of its root if there was no space for its own.
std::uint64_t* values_of(const Arena& arena, format::Ref ref);

}  // namespace fbleprof::signal_safe
