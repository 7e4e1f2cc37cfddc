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

// Whether a mark was set, which becomes `visit` then. What is filled from here on sets it again.
// (What must be emptied was filled before its code was unloaded, so a plain look finds its mark.)
bool begin_visit(std::uint8_t& mark, std::uint8_t visit) {
  if (mark == 0) return false;
  __atomic_exchange_n(&mark, visit, __ATOMIC_SEQ_CST);
  return true;
}
// Takes the mark back, only now: another thread that empties the cache must not return before all
// is looked through. Not if the page was filled meanwhile, or is another's visit now.
void end_visit(std::uint8_t& mark, std::uint8_t visit) {
  __atomic_compare_exchange_n(&mark, &visit, std::uint8_t{0}, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_RELAXED);
}

}  // namespace

std::uint32_t empty_filled_pages(ThreadState& thread, std::uint8_t visit) {
  constexpr std::uint64_t kSlots = FilledPages::kBytes / sizeof(Slot);
  if (!begin_visit(thread.filled.any, visit)) return 0;
  std::uint32_t visited = 0;
  Slot* page = thread.cache.slots;
  for (std::uint8_t& mark : thread.filled.pages) {
    if (begin_visit(mark, visit)) {
      ++visited;
      for (Slot* slot = page; slot < page + kSlots; ++slot) {
        if (slot->tag != 0) __atomic_store_n(&slot->tag, 0, __ATOMIC_RELEASE);
      }
      end_visit(mark, visit);
    }
    page += kSlots;
  }
  end_visit(thread.filled.any, visit);
  return visited;
}

void insert_slot(ThreadState& thread, Word context, const Slot& call) {
  if (is_too_small(thread)) [[unlikely]]
    grow(thread);
  const auto [slot, pushes_out] = choose_slot(
      thread.cache, context, call, [&](const Slot* each) { return is_spare(each, context); });
  if (!pushes_out || may_push_out(thread)) fill_slot(thread, slot, call);
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
