#include "signal_safe/call_rates.h"

#include "arch/hash.h"

namespace fbleprof::signal_safe {

void CallRates::look(const Slot* cache, std::uint64_t cpu_ns, std::uint64_t most, Unhook unhook) {
  if (round_ns_ == 0) {
    for (Counter& counter : counters_) counter.calls = nullptr;
    begin_round(cpu_ns);
  }
  const std::uint64_t elapsed = cpu_ns - round_ns_;
  const std::uint64_t due = elapsed < kRoundNs ? elapsed * kParts / kRoundNs : kParts;
  for (std::uint32_t i = 0; i < kPartsAtOnce && next_part_ < due; ++i, ++next_part_) {
    visit(cache + next_part_ * kSlots, cpu_ns);
  }
  if (next_part_ < kParts) return;
  finish(most, unhook);
  begin_round(cpu_ns);
}

void CallRates::begin_round(std::uint64_t cpu_ns) {
  ++round_;
  round_ns_ = cpu_ns;
  next_part_ = 0;
}

void CallRates::visit(const Slot* part, std::uint64_t cpu_ns) {
  constexpr std::uint64_t kLeastNs = kRoundNs / 2;                   // less might be a burst
  constexpr std::uint64_t kMicrosecond = 1000, kSecond = 1'000'000;  // in ns; in microseconds
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const Slot& slot = part[i];
    // Other keys than addresses stand for blocks and tail calls.
    if (slot.tag == 0 || slot.callee >> arch::kUpperShift != 0) continue;
    const std::uint64_t now = *slot.calls;
    Counter& counter =
        counters_[arch::hash_of(0, reinterpret_cast<std::uint64_t>(slot.calls)) % kFirstCacheSlots];
    if (counter.calls == slot.calls) {
      if (counter.seen_ns >= round_ns_ || cpu_ns - counter.seen_ns < kLeastNs) continue;
      add(slot.callee,
          (now - counter.seen) * kSecond / ((cpu_ns - counter.seen_ns) / kMicrosecond));
    }
    counter = {slot.calls, now, cpu_ns};
  }
}

void CallRates::add(std::uint64_t hook_return, std::uint64_t per_second) {
  if (per_second == 0) return;
  const std::uint64_t home = arch::hash_of(0, hook_return);
  for (std::uint32_t i = 0; i < kProbes; ++i) {
    Rate& rate = rates_[(home + i) % kFunctions];
    if (rate.round != round_ || rate.per_second == 0) {
      rate = {hook_return, per_second, round_};
      return;
    }
    if (rate.hook_return != hook_return) continue;
    rate.per_second += per_second;
    return;
  }
}

void CallRates::finish(std::uint64_t most, Unhook unhook) {
  std::uint64_t found[kMostAtOnce];
  std::uint32_t count = 0;
  for (const Rate& rate : rates_) {
    if (rate.round != round_ || rate.per_second <= most) continue;
    found[count++] = rate.hook_return;
    if (count == kMostAtOnce) break;
  }
  if (count != 0) unhook(found, count);
}

}  // namespace fbleprof::signal_safe
