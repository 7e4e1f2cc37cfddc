// The shadow stack and the edge cache: the memory that the hooks' hot paths work on.
//
// A thread's shadow stack mirrors the machine stack: an entry holds a context (a node of the call
// tree) and the frame in which its function runs. Machine stacks grow downward, so an entry whose
// frame is not above the present one is dead: nothing needs to tell us that a function returned.
// The bottom entry is the gate. Its frame is above everything and its word is in no cache slot, so
// that whatever pops down to it meets the slow path, which looks at which stack this is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/arch/x86_64/hot_layout.h"

namespace fbleprof::signal_safe {

struct ThreadState;

// A node's word: its number in the tree above bit 47; below, the block's number if it is one of the
// C API's, so that `leave` can tell. User addresses end at bit 47, so word ^ call_site names
// context and site together, and one compare checks both. Trees with more nodes than numbers fit go
// on without the cache: kBigNode, and the number below.
using Word = std::uint64_t;
inline constexpr int kWordShift = 47;
inline constexpr std::uint32_t kBigNode = 0x1ffff;
inline constexpr std::uint32_t kGateNode = 0x1fffe;
// The gate of a thread's own stack stands for the root, always. What lies below another stack's
// changes.
inline constexpr Word kRootGateWord = static_cast<Word>(kGateNode) << kWordShift;
inline constexpr Word kGateWord = kRootGateWord | Word{1} << 40;  // above any block's number
constexpr bool is_gate_word(Word word) { return word >> kWordShift == kGateNode; }
inline constexpr std::uint32_t kFirstBigNumber = kGateNode;
inline constexpr std::uint32_t kBigMark = 1u << 31;  // no block has such a number

constexpr Word make_word(std::uint32_t number, std::uint32_t block) {
  return number < kFirstBigNumber ? static_cast<Word>(number) << kWordShift | block
                                  : static_cast<Word>(kBigNode) << kWordShift | kBigMark | number;
}
constexpr bool is_cacheable(Word word) { return word >> kWordShift < kFirstBigNumber; }
// The node's number within its tree; not for the gate.
constexpr std::uint32_t node_number(Word word) {
  const auto top = static_cast<std::uint32_t>(word >> kWordShift);
  return top == kBigNode ? static_cast<std::uint32_t>(word) & ~kBigMark : top;
}

// A frame is the address of the function's return-address slot less FRAME_BIAS; see hooks.S.
using Frame = std::uint64_t;
inline constexpr Frame kNoFrame = ~Frame{0} << 12;  // above all, with room for the bias

struct Entry {
  Frame frame;
  Word word;
};

// One slot: "in this context, from this call site, to this callee: count on `edge`,
// go to `to`". tag 0 is an empty slot; no context and site give it.
struct Slot {
  std::uint64_t tag;
  std::uint64_t callee;  // what the hook saw: not normalised to the function's start
  format::Edge* edge;
  Word to;
};
inline constexpr std::size_t kCacheSlots = std::size_t{1} << CACHE_SLOT_BITS;

inline Slot* slot_of(Slot* cache, std::uint64_t tag, std::uint64_t callee) {
  std::uint64_t offset = callee;
  asm("crc32q %1, %0" : "+r"(offset) : "r"(tag));
  return reinterpret_cast<Slot*>(reinterpret_cast<char*>(cache) + (offset & CACHE_HASH_MASK));
}

// Slots come in pairs, one cache line each: what is not in the one may be in the other.
inline Slot* other_slot(Slot* slot) {
  return reinterpret_cast<Slot*>(reinterpret_cast<std::uint64_t>(slot) ^ SLOT_BYTES);
}

inline Slot* find_slot(Slot* cache, std::uint64_t tag, std::uint64_t callee) {
  Slot* slot = slot_of(cache, tag, callee);
  if (slot->tag == tag && slot->callee == callee) return slot;
  slot = other_slot(slot);
  return slot->tag == tag && slot->callee == callee ? slot : nullptr;
}

// Thread-local, known to the assembly. All zero until the thread is attached and after it is
// detached; then hooks return at once.
struct Hot {
  Entry* top;         // newest entry
  Slot* cache;        // kCacheSlots of them
  ThreadState* self;  // 1 = not to be profiled
  Entry* limit;       // no entry may be pushed above it by hooks that can nest within one frame
};

static_assert(offsetof(Hot, top) == HOT_TOP && offsetof(Hot, cache) == HOT_CACHE);
static_assert(offsetof(Hot, self) == HOT_SELF && offsetof(Hot, limit) == HOT_LIMIT);
static_assert(offsetof(Entry, frame) == ENTRY_FRAME && offsetof(Entry, word) == ENTRY_WORD);
static_assert(sizeof(Entry) == ENTRY_BYTES && sizeof(Slot) == SLOT_BYTES);
static_assert(offsetof(Slot, callee) == SLOT_CALLEE && offsetof(Slot, edge) == SLOT_EDGE);
static_assert(offsetof(Slot, to) == SLOT_TO);
static_assert(CACHE_HASH_MASK == (kCacheSlots - 1) * SLOT_BYTES);

}  // namespace fbleprof::signal_safe

extern "C" __thread fbleprof::signal_safe::Hot fbleprof_hot
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
