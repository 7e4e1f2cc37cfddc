#include "signal_safe/proven_ways.h"

#include "arch/hash.h"
#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

// The index of the word from which the walk came to the frame that returns to the address in
// `slot`.
std::uint32_t index_of(const WalkReads& reads, std::uint64_t slot) {
  std::uint32_t i = 0;
  while (i < reads.count && reads.place(i) != slot) ++i;
  return i;
}

bool is_as_before(const ThreadState& thread, const WalkReads& reads, std::uint32_t first,
                  std::uint64_t sp) {
  // What was read then may be behind the end of another stack that is there now.
  const Stack& stack = *thread.current;
  return stack.contains(sp) && reads.end <= stack.high && reads.are_same(first);
}

}  // namespace

ProvenWay& proven_way(ThreadState& thread, const Entry* top, const HookState& at) {
  return thread
      .proven_ways[arch::hash_of(at.sp ^ top->word << 32, at.pc ^ top->frame) % kProvenWays];
}

Entry* proven_caller(ThreadState& thread, Entry* top, const HookState& at) {
  const ProvenWay& way = proven_way(thread, top, at);
  if (way.at.pc != at.pc || way.at.sp != at.sp || way.top != top ||
      (way.reads.use_fp && way.at.fp != at.fp) || way.epoch != thread.session->code_map.epoch()) {
    return nullptr;
  }
  for (std::uint32_t i = 0; i <= way.stale; ++i) {
    const Entry* entry = top - i;
    if (entry->frame != way.entries[i].frame || entry->word != way.entries[i].word) return nullptr;
  }
  return is_as_before(thread, way.reads, 0, at.sp) ? top - way.stale : nullptr;
}

void ProvenWay::add_rest(std::uint64_t slot, WalkReads* to) const {
  for (std::uint32_t i = index_of(reads, slot) + 1; i < reads.count; ++i) {
    to->add(reads.place(i), reads.values[i]);
  }
}

bool meets(const ThreadState& thread, const ProvenWay& earlier, const StackWalk& walk,
           const Entry* entry) {
  const std::uint64_t sp = walk.state().sp, slot = walk.pc_slot();
  const Entry& caller = earlier.entries[earlier.stale];
  if (earlier.at.pc == 0 || slot == 0 || earlier.reads.use_fp ||
      entry != earlier.top - earlier.stale || entry->frame != caller.frame ||
      entry->word != caller.word || earlier.epoch != thread.session->code_map.epoch() ||
      (earlier.stale != 0 && earlier.entries[0].frame + FRAME_BIAS >= sp)) {
    return false;
  }
  const WalkReads& reads = earlier.reads;
  const std::uint32_t met = index_of(reads, slot);
  if (met == reads.count || reads.values[met] != walk.state().pc) return false;
  // Registers that newer frames have saved may differ.
  for (std::uint32_t i = met + 1; i < reads.count; ++i) {
    if (reads.place(i) <= slot) return false;
  }
  return is_as_before(thread, reads, met + 1, sp);
}

void keep_proof(ThreadState& thread, Entry* top, const Entry* caller, const HookState& at) {
  const WalkReads& walked = thread.walked;
  // The walk may have switched to another stack, whose entries are elsewhere.
  const bool is_one_stack = caller >= thread.current->gate && caller <= top &&
                            top < thread.current->limit + kSlackEntries;
  const auto stale = static_cast<std::uint64_t>(top - caller);
  if (!walked.decide || !is_one_stack || stale > ProvenWay::kMostStale || is_gate(caller) ||
      shares_frame_with_below(caller)) {
    return;
  }
  ProvenWay& way = proven_way(thread, top, at);
  way.stale = static_cast<std::uint32_t>(stale);
  way.top = top;
  for (std::uint32_t i = 0; i <= way.stale; ++i) way.entries[i] = *(top - i);
  way.epoch = thread.session->code_map.epoch();
  way.reads.sp = walked.sp;
  way.reads.end = walked.end;
  way.reads.count = walked.count;
  way.reads.use_fp = walked.use_fp;
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    way.reads.offsets[i] = walked.offsets[i];
    way.reads.values[i] = walked.values[i];
  }
  way.at = at;
  thread.newest_way = &way;
}

}  // namespace fbleprof::signal_safe
