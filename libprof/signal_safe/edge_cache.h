// Fills the cache that the hooks look up first; see shadow_stack.h for a slot's meaning and
// arch/word.h for its place. Only the owner of the cache fills it, under its BusyGuard. Whoever
// unloads code empties the caches of all threads.
#pragma once

#include "signal_safe/thread_state.h"

namespace fbleprof::signal_safe {

// Makes `call`, in the context of that word, hit. It gets the slot that is looked up first, or, to
// spare a call that is at home there, the other slot of the pair, if no call is at home in that. If
// calls are at home in both, it pushes one out: always in a tree of many contexts, else one time in
// eight. A call that has the other slot already moves to the first. In a tree of many contexts, the
// cache gets twice its size first: it is 1 MB then.
void insert_slot(ThreadState& thread, Word context, const Slot& call);

// Whether the cache has all of its slots.
inline bool has_all_slots(const Cache& cache) { return cache.mask == arch::kMostCacheMask; }

// The same for a call from `site`, if context and site can be looked up at all.
void remember_call(ThreadState& thread, Word context, std::uint64_t site, std::uint64_t callee,
                   std::uint64_t* calls, Word to);

// The same for a tail call from the function of `context`, which `caller` called. `hook_return`
// stands for both functions: the trampoline between them calls the hook there.
void remember_tail_call(ThreadState& thread, Word context, Word caller, std::uint64_t hook_return,
                        std::uint64_t* calls, Word to);

// Where a call goes, by the rules above. `is_spare`: whether a slot may be given away.
struct SlotChoice {
  Slot* slot;
  bool pushes_out;  // a call that is at home there
};

template <typename IsSpare>
SlotChoice choose_slot(const Cache& cache, Word context, const Slot& call, IsSpare is_spare) {
  Slot* slot = slot_of(cache, context, call.tag, call.callee);
  Slot* other = other_slot(slot);
  if (other->tag == call.tag && other->callee == call.callee) {
    // It moves. What was there before is lost, and found again by its next call: only the call that
    // is being made may be written, because the code of another may be on the way out of memory.
    other->tag = 0;
    return {slot, false};
  }
  if (is_spare(slot)) return {slot, false};
  if (is_spare(other)) return {other, false};
  return {slot, true};
}

// Tells whoever empties the caches that the slot's page may hold calls.
inline void mark_filled(ThreadState& thread, const Slot* slot) {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const char*>(slot) -
                                                 reinterpret_cast<const char*>(thread.cache.slots));
  __atomic_store_n(&thread.filled.pages[offset / FilledPages::kBytes], FilledPages::kFilled,
                   __ATOMIC_RELEASE);
  __atomic_store_n(&thread.filled.any, FilledPages::kFilled, __ATOMIC_RELEASE);
}

// Fills a slot of the thread's cache.
inline void fill_slot(ThreadState& thread, Slot* slot, const Slot& with) {
  // Already now: a handler may leave the rest out by longjmp.
  mark_filled(thread, slot);
  // A hook in a signal handler may see the slot half written: that hook must miss.
  slot->tag = 0;
  asm volatile("" ::: "memory");
  slot->callee = with.callee;
  slot->calls = with.calls;
  slot->to = with.to;
  asm volatile("" ::: "memory");
  slot->tag = with.tag;
  // Without a look at what was there: whoever takes the marks back at this moment either sees the
  // slot, too, or leaves these marks to the next one.
  mark_filled(thread, slot);
}

// Empties the pages of the thread's cache that have been filled since this was done last, and
// returns how many they are. Any thread may do that at any moment, several at once; each call with
// another `visit` than those that run meanwhile, from FilledPages::kFirstVisit on. The owner may be
// filling a slot: that call is kept or dropped.
std::uint32_t empty_filled_pages(ThreadState& thread, std::uint8_t visit);

// As insert_slot(), in a cache that has all of its slots: there nearly all calls are at home, so
// only an empty slot is spare.
inline void insert_among_all(ThreadState& thread, Word context, const Slot& call) {
  const auto is_empty = [](const Slot* slot) { return slot->tag == 0; };
  fill_slot(thread, choose_slot(thread.cache, context, call, is_empty).slot, call);
}

// The C API's calls look up these instead of a callee's address. No code is there: all have their
// top bit set. hooks.S forms the first.
constexpr std::uint64_t callee_of_block(std::uint32_t block) { return 0xffffffff80000000u | block; }
// A tail call in the tree under the caller, whose node it names.
constexpr std::uint64_t callee_of_tail_call(format::Ref caller, std::uint32_t block) {
  return std::uint64_t{1} << 63 | std::uint64_t{caller} << 32 | block;
}
// A call from a place that has a number of the runtime's own.
constexpr std::uint64_t callee_from_place(std::uint32_t place, std::uint32_t block) {
  return std::uint64_t{1} << 63 | std::uint64_t{place & 0x7fffffffu} << 32 | 1u << 30 | block;
}

}  // namespace fbleprof::signal_safe
