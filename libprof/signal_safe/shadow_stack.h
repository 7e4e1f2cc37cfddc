// The shadow stack and the edge cache: the memory that the hooks' hot paths work on.
//
// A thread's shadow stack mirrors the machine stack: an entry holds a context (a node of the call
// tree) and the frame in which its function runs. Machine stacks grow downward, so an entry whose
// frame is not above the current one is dead, and no hook needs to report a function's return. The
// bottom entry is the gate. Its frame is above everything and its word is in no cache slot, so a
// call that pops down to the gate takes the slow path, which finds the current stack. A word
// encodes a context; see arch/word.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/hot_layout.h"
#include "arch/word.h"
#include "format/format.h"

namespace fbleprof::signal_safe {

struct ThreadState;

using arch::Word;

inline constexpr std::uint32_t kUnitsOfNode = sizeof(format::Node) / format::kUnitBytes;
// The size of the largest file whose nodes words can encode.
inline constexpr std::uint64_t kMostArenaBytes =
    std::uint64_t{arch::kContextLimit} * sizeof(format::Node);

// The gate of a thread's own stack always stands for the root. For other stacks, the context below
// the gate changes.
inline constexpr Word kRootGateWord = arch::make_gate_word(1);
inline constexpr Word kGateWord = arch::make_gate_word(2);
using arch::is_gate_word;
constexpr bool is_cacheable(Word word) { return !is_gate_word(word) || word == kRootGateWord; }

// Nodes are numbered by their place in the file; a unit of the arena is half a node.
constexpr Word word_of(format::Ref node, std::uint32_t block) {
  return arch::make_word(node / kUnitsOfNode, block);
}
constexpr format::Ref node_of_word(Word word) { return arch::context_of(word) * kUnitsOfNode; }

// A frame is the address of the function's return-address slot minus FRAME_BIAS; see hooks.S.
using Frame = std::uint64_t;
inline constexpr Frame kNoFrame = ~Frame{0} << 12;  // above all others, with room for the bias

struct Entry {
  Frame frame;
  Word word;
};
// Behind the limit of a shadow stack, for entries that are pushed without a look at it.
inline constexpr std::uint64_t kSlackEntries = 64;

// One slot: "in this context, from this call site, to this callee: count at `calls`, go to `to`". A
// tag of 0 marks an empty slot; no context and site have this tag.
struct Slot {
  std::uint64_t tag;
  std::uint64_t callee;  // as the hook saw it, not the function's start
  std::uint64_t* calls;
  Word to;
};

// A thread's slots. The mask tells how many hooks use: the first kFirstCacheSlots, or all in a
// large tree (edge_cache.h).
struct Cache {
  Slot* slots;
  std::uint64_t mask;
};
inline constexpr std::size_t kFirstCacheSlots = std::size_t{1} << CACHE_SLOT_BITS;
inline constexpr std::size_t kMostCacheSlots = std::size_t{1} << CACHE_MOST_SLOT_BITS;

// Where a cache has been filled since it was last emptied: whoever empties it looks at these pages
// only. 0: nowhere. Else kFilled, or the visit (edge_cache.h) that looks through the page.
struct FilledPages {
  static constexpr std::uint64_t kBytes = 4096;  // of the cache
  static constexpr std::uint8_t kFilled = 1, kFirstVisit = 2;
  std::uint8_t pages[kMostCacheSlots * SLOT_BYTES / kBytes] = {};
  std::uint8_t any = 0;  // the same for all pages together
};

inline Slot* slot_of(Cache cache, Word context, std::uint64_t tag, std::uint64_t callee) {
  return reinterpret_cast<Slot*>(reinterpret_cast<char*>(cache.slots) +
                                 arch::slot_offset(context, tag, callee, cache.mask));
}

// Slots come in pairs, one cache line each: a call not found in one may be in the other.
inline Slot* other_slot(Slot* slot) {
  return reinterpret_cast<Slot*>(reinterpret_cast<std::uint64_t>(slot) ^ SLOT_BYTES);
}

inline Slot* find_slot(Cache cache, Word context, std::uint64_t tag, std::uint64_t callee) {
  Slot* slot = slot_of(cache, context, tag, callee);
  if (slot->tag == tag && slot->callee == callee) return slot;
  slot = other_slot(slot);
  return slot->tag == tag && slot->callee == callee ? slot : nullptr;
}

// Thread-local, known to the assembly. All zero before the thread is attached and after it is
// detached; then hooks return at once.
struct Hot {
  Entry* top;         // newest entry
  Slot* cache;        // the slots
  ThreadState* self;  // 1 = not to be profiled
  Entry* limit;       // no entry may be pushed above it by hooks that can nest within one frame
  std::uint64_t cache_mask;  // of the slots; never shrinks
};

static_assert(offsetof(Hot, top) == HOT_TOP && offsetof(Hot, cache) == HOT_CACHE);
static_assert(offsetof(Hot, self) == HOT_SELF && offsetof(Hot, limit) == HOT_LIMIT);
static_assert(offsetof(Hot, cache_mask) == HOT_CACHE_MASK);
static_assert(offsetof(Entry, frame) == ENTRY_FRAME && offsetof(Entry, word) == ENTRY_WORD);
static_assert(sizeof(Entry) == ENTRY_BYTES && sizeof(Slot) == SLOT_BYTES);
static_assert(ENTRY_WORD_BELOW == ENTRY_WORD - ENTRY_BYTES);
static_assert(offsetof(Slot, callee) == SLOT_CALLEE && offsetof(Slot, calls) == SLOT_CALLS);
static_assert(offsetof(Slot, to) == SLOT_TO);
static_assert(arch::kNoBlock == (1u << WORD_BLOCK_BITS) - 1);

}  // namespace fbleprof::signal_safe

extern "C" __thread fbleprof::signal_safe::Hot fbleprof_hot
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
