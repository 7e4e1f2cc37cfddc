#include "signal_safe/edge_cache.h"

#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

// More contexts than this have more frequent calls than the first slots can hold.
constexpr std::uint32_t kManyContexts = 2 * kFirstCacheSlots;

bool is_too_small(const ThreadState& thread) {
  // --throttle looks through the first slots only.
  return thread.cache.mask == arch::kFirstCacheMask && thread.cache_may_grow &&
         thread.tree.size() > kManyContexts && thread.session->options.throttle == 0;
}

// The calls whose place is another one now stay in their slots, where nothing looks for them.
__attribute__((noinline, cold)) void grow(ThreadState& thread) {
  // First for those who empty it.
  __atomic_store_n(&thread.cache.mask, arch::kMostCacheMask, __ATOMIC_SEQ_CST);
  __atomic_store_n(&thread.hot->cache_mask, arch::kMostCacheMask, __ATOMIC_RELEASE);
}

// Whether a slot may be given away: it is empty, or its call is one that looks into the other slot
// first. (Calls from blocks and from functions can be taken for each other: that only makes the
// choice worse.)
bool is_spare(const Slot* slot, Word context) {
  if (slot->tag == 0) return true;
  const std::uint64_t place = arch::slot_offset(context, slot->tag, slot->callee, SLOT_BYTES);
  return place != (reinterpret_cast<std::uint64_t>(slot) & SLOT_BYTES);
}

// Whether a new call may push out one that is at home. In a large tree always: there the calls that
// miss mostly come again soon. In a small one, three frequent calls of one pair would push out each
// other again and again, so it is one time in eight. By chance: a rule by count would never choose
// one of two calls that alternate.
bool may_push_out(ThreadState& thread) {
  if (has_all_slots(thread.cache)) return true;
  thread.lot = thread.lot * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
  return thread.lot >> 61 == 0;
}

}  // namespace

void insert_slot(ThreadState& thread, Word context, const Slot& call) {
  if (is_too_small(thread)) [[unlikely]]
    grow(thread);
  const auto [slot, pushes_out] = choose_slot(
      thread.cache, context, call, [&](const Slot* each) { return is_spare(each, context); });
  if (!pushes_out || may_push_out(thread)) fill_slot(slot, call);
}

void remember_call(ThreadState& thread, Word context, std::uint64_t site, std::uint64_t callee,
                   std::uint64_t* calls, Word to) {
  if (!is_cacheable(context) || site >> arch::kUpperShift != 0) return;
  insert_slot(thread, context, {context ^ site, callee, calls, to});
}

void remember_tail_call(ThreadState& thread, Word context, Word caller, std::uint64_t hook_return,
                        std::uint64_t* calls, Word to) {
  // The keys of blocks hold their numbers where other words have kNoBlock.
  if (!is_cacheable(caller) || arch::block_of(caller) != arch::kNoBlock) return;
  insert_slot(thread, context, {context ^ hook_return, caller, calls, to});
}

}  // namespace fbleprof::signal_safe
