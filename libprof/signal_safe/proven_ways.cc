#include "signal_safe/proven_ways.h"

#include "signal_safe/live_rule.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

// Whether a walk that comes to a frame that returns to `now` goes on as one did where it returned
// to `before`: both are in the code of one function, whose frame has the same layout there.
bool is_same_step(ThreadState& thread, std::uint64_t before, std::uint64_t now) {
  const CodeMap& code = thread.session->code_map;
  const format::Ref function = code.known_function_at(now - 1);
  return function != 0 && function == code.known_function_at(before - 1) &&
         leads_alike(thread, before, now);
}

// Whether a walk would read the same words. Adopts return addresses that make no difference.
bool is_as_before(ThreadState& thread, WalkReads& reads) {
  // What was read then may be behind the end of another stack that is there now.
  const Stack& stack = *thread.current;
  if (!stack.contains(reads.sp) || reads.end > stack.high) return false;
  for (std::uint32_t i = 0; i < reads.count; ++i) {
    const std::uint64_t now = *reinterpret_cast<const std::uint64_t*>(reads.place(i));
    if (now == reads.values[i]) continue;
    if (!reads.is_return(i) || !is_same_step(thread, reads.values[i], now)) return false;
    reads.values[i] = now;
  }
  return true;
}

// Whether a walk that reads these words finds that the entry belongs to none of the frames.
bool is_passed(ThreadState& thread, const WalkReads& reads, const Entry* stale) {
  const std::uint64_t slot = stale->frame + FRAME_BIAS;
  // The frame that the walk has come to is that of the code before `pc`; 0: the callee's. Its end
  // is above `end`, where the next return address is.
  std::uint64_t end = 0, pc = 0;
  for (std::uint64_t left = reads.returns; left != 0; left &= left - 1) {
    const auto i = static_cast<std::uint32_t>(__builtin_ctzll(left));
    const std::uint64_t next = reads.place(i);
    if (pc != 0 && (slot == end || slot == next)) {
      const format::Ref owner = thread.session->code_map.known_function_at(pc - 1);
      if (owner == 0 || may_be_entry_of(thread, stale, owner)) return false;
    }
    if (slot < next) return true;  // below all further frames
    end = next + sizeof next;
    pc = reads.values[i];
  }
  return slot < end;
}

// The first of the two places for the answer to a call whose walk begins at `at`.
ProvenWay* first_place(ThreadState& thread, const Entry* caller, const HookState& at) {
  // Multiples of the golden ratio lie far apart, and so do the ways from the frames of a recursion,
  // whose stack pointers have equal distances.
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  const std::uint64_t start = at.sp / 8 + at.pc + caller->word + caller->frame / 8 * 3;
  return &thread.proven_ways[(start * kGolden >> 32) * kProvenWays >> 32 & ~std::uint64_t{1}];
}

bool is_from(const ProvenWay& way, const Entry* caller, const HookState& at, std::uint32_t epoch) {
  return way.at.pc == at.pc && way.at.sp == at.sp && way.caller == caller &&
         way.entry.frame == caller->frame && way.entry.word == caller->word && way.epoch == epoch &&
         (!way.reads.use_fp || way.at.fp == at.fp);
}

}  // namespace

ProvenWay* proven_before(ThreadState& thread, Entry* top, const HookState& at) {
  const std::uint32_t epoch = thread.session->code_map.epoch();
  for (Entry* caller = top; caller >= top - kMostStale && !is_gate(caller); --caller) {
    ProvenWay* way = first_place(thread, caller, at);
    if (!is_from(*way, caller, at, epoch) && !is_from(*++way, caller, at, epoch)) continue;
    if (!is_as_before(thread, way->reads)) continue;
    const Entry* stale = top;
    while (stale != caller && is_passed(thread, way->reads, stale)) --stale;
    if (stale == caller) return way;
  }
  return nullptr;
}

void keep_proof(ThreadState& thread, Entry* top, Entry* caller, const HookState& at) {
  const WalkReads& walked = thread.walked;
  // The walk may have switched to another stack, whose entries are elsewhere.
  const bool is_one_stack = caller >= thread.current->gate && caller <= top &&
                            top < thread.current->limit + kSlackEntries;
  if (!walked.decide || !is_one_stack || is_gate(caller) || shares_frame_with_below(caller)) return;
  ProvenWay* const first = first_place(thread, caller, at);
  const std::uint32_t epoch = thread.session->code_map.epoch();
  thread.other_place = !thread.other_place;
  const bool is_second = !is_from(first[0], caller, at, epoch) &&
                         (is_from(first[1], caller, at, epoch) || thread.other_place);
  ProvenWay& way = first[is_second];
  way.caller = caller;
  way.entry = *caller;
  way.epoch = epoch;
  way.site = 0;
  way.reads.sp = walked.sp;
  way.reads.end = walked.end;
  way.reads.count = walked.count;
  way.reads.returns = walked.returns;
  way.reads.use_fp = walked.use_fp;
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    way.reads.offsets[i] = walked.offsets[i];
    way.reads.values[i] = walked.values[i];
  }
  way.at = at;
}

}  // namespace fbleprof::signal_safe
