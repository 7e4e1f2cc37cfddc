// Allocations, by the context that allocates.
//
// In hooked code each allocation is charged to the live entry of the shadow stack, exactly. Which
// entry that is takes a proof: a stale one survives where `new` calls malloc deeper than the
// function that returned. So a cache per thread remembers what a proof found out, under everything
// that it depended on: the top entry's word, the call site, what stands in the top entry's
// return-address slot, and how far away that is. The same key means the same answer: "the top is
// live", or "it is stale, and the one below is". Code without hooks below a hooked function (a
// library that allocates) is charged to that function.
//
// Elsewhere the stack is walked: for each allocation (kExact), or for one in so many bytes, which
// then stands for others (see poisson.h).
//
// The price off: nothing, because the functions that call this are in a library of their own, which
// is loaded if allocations are to be recorded. See preload/allocations.
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

// What a proof found out.
struct KnownAllocation {
  // The key. A word of 0 is none.
  Word word;                  // of the top entry that the filter by address leaves
  std::uint64_t site;         // the allocator will return there
  std::uint64_t return_site;  // the content of the entry's return-address slot
  std::uint64_t distance;     // from there to the allocator's
  Word below;                 // 0: the top is live; else it is stale, and the one below, which has
                              // this word, is live
  std::uint64_t* values;      // of the live one's node
  format::Ref node;
  std::uint32_t reserved;
};
static_assert(sizeof(KnownAllocation) == 56);

// A thread's own. It is wiped in a forked child: no key is found there, and the slow path notices
// the fork.
struct AllocationThread {
  static constexpr std::uint32_t kKnown = 4096;

  std::int64_t bytes_left;  // to the next sampled byte
  std::uint64_t random;     // 0: no distance was drawn yet
  const void* newest;       // the block of the thread's last call, if that allocated
  std::int64_t level;       // bytes allocated and not freed, not in Allocations::level yet
  std::int64_t flush_at;    // when they get there
  std::uint32_t number;     // below LiveBlocks::kOwners; 0 = none
  std::uint32_t emptied;    // Session::caches_emptied, of what is known
  KnownAllocation known[kKnown];
};

// What all threads share; part of the session.
struct Allocations {
  LiveBlocks blocks;
  SampledBlocks sampled;
  std::atomic<std::uint32_t> threads{0};

  // The peak: a snapshot is taken when the level is 5 % above that of the last one.
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

// Adds the thread's level to that of all. At ends, and where the level must be right.
void flush_level(ThreadState& thread);

}  // namespace fbleprof::signal_safe
