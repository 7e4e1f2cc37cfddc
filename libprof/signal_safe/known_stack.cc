#include "signal_safe/known_stack.h"

namespace fbleprof::signal_safe {

namespace {

std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

}  // namespace

void KnownStack::begin(std::uint64_t now_ns) {
  walked_count_ = kept_ = in_a_row_ = 0;
  expected_ = kNone;
  ++walks_;
  is_whole_ = false;
  if (now_ns <= paid_until_ns_) return;
  budget_ += (now_ns - paid_until_ns_) / kNsPerFrame;
  if (budget_ > kDeepestFrames) budget_ = kDeepestFrames;
  paid_until_ns_ = now_ns;
}

bool KnownStack::make_deep(Pages& pages) {
  if (!may_deepen_) return false;
  auto* frames = static_cast<WalkedFrame*>(
      pages.take(std::uint64_t{2} * kDeepestFrames * sizeof(WalkedFrame)));
  // Try once: a program without spare address space must not be asked at each sample.
  may_deepen_ = false;
  if (!frames) return false;
  for (std::uint32_t i = 0; i < kMaxFrames; ++i) {
    frames[i] = shallow_walked_[i];
    frames[kDeepestFrames + i] = shallow_known_[i];
  }
  deep_ = frames;
  return true;
}

WalkedFrame* KnownStack::next(Pages& pages, bool is_deep) {
  if (walked_count_ >= kMaxFrames) {
    if (!is_deep || budget_ == 0 || walked_count_ == kDeepestFrames) return nullptr;
    if (!deep_ && !make_deep(pages)) return nullptr;
    --budget_;
  }
  return &walked_frames()[walked_count_++];
}

// The known frame with this slot. Slots fall from the oldest frame to the newest.
std::uint32_t KnownStack::find(std::uint64_t slot) const {
  const WalkedFrame* known = known_frames();
  std::uint32_t low = 0, high = known_count_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (known[middle].slot > slot) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < known_count_ && known[low].slot == slot ? low : kNone;
}

// The oldest frame from `begin` to `end` whose return address is another one; `end` if there is
// none.
std::uint32_t KnownStack::first_changed(std::uint32_t begin, std::uint32_t end) const {
  const WalkedFrame* known = known_frames();
  while (begin < end && word_at(known[begin].slot) == known[begin].pc) ++begin;
  return begin;
}

std::uint32_t KnownStack::first_changed(std::uint32_t count) {
  if (count <= kCheckedInAll) return first_changed(0, count);
  std::uint32_t changed = first_changed(0, kCheckedAtAnEnd);
  if (changed < kCheckedAtAnEnd) return changed;
  if (check_from_ < kCheckedAtAnEnd || check_from_ >= count) check_from_ = kCheckedAtAnEnd;
  std::uint32_t end = check_from_ + kCheckedBetween;
  if (end > count) end = count;
  changed = first_changed(check_from_, end);
  check_from_ = end;
  if (changed < end) return changed;
  return first_changed(count - kCheckedAtAnEnd, count);
}

bool KnownStack::has_met(const Ground& ground) {
  const WalkedFrame& frame = walked(walked_count_ - 1);
  if (known_count_ == 0) return false;
  if (expected_ == kNone || known_frames()[expected_].slot != frame.slot) {
    expected_ = frame.slot != 0 ? find(frame.slot) : kNone;
    in_a_row_ = 0;
  }
  if (expected_ == kNone) return false;
  const WalkedFrame& known = known_frames()[expected_];
  const bool is_same =
      known.pc == frame.pc && known.fp == frame.fp && known.function == frame.function;
  const std::uint32_t older = expected_;
  expected_ = older == 0 ? kNone : older - 1;
  in_a_row_ = is_same ? in_a_row_ + 1 : 0;
  if (in_a_row_ < kSameInARow || older == 0 || !(ground == ground_)) return false;
  kept_ = first_changed(older);
  if (kept_ == older) return true;
  // The walk continues to the unchanged frames.
  known_count_ = kept_;
  kept_ = in_a_row_ = 0;
  expected_ = kNone;
  return false;
}

bool KnownStack::confirms_oldest(const Ground& ground, std::uint64_t sp) {
  if (known_count_ == 0 || !(ground == ground_)) return false;
  std::uint32_t count = 0;
  const WalkedFrame* known = known_frames();
  while (count < known_count_ && count < kCheckedAtAnEnd && known[count].slot > sp &&
         word_at(known[count].slot) == known[count].pc) {
    ++count;
  }
  kept_ = count;
  return count != 0;
}

void KnownStack::remember(const Ground& ground) {
  const std::uint32_t limit = deep_ ? kDeepestFrames : kMaxFrames;
  // The innermost frame has no return address on the stack.
  const std::uint32_t first = walked_count_ != 0 && walked(0).slot == 0 ? 1 : 0;
  WalkedFrame* known = known_frames();
  std::uint32_t count = kept_, i = walked_count_;
  for (; i > first && count < limit; --i) {
    const WalkedFrame& frame = walked(i - 1);
    if (frame.slot == 0 || (count != 0 && frame.slot >= known[count - 1].slot)) break;
    known[count++] = frame;
  }
  is_whole_ = i == first;
  known_count_ = count;
  ground_ = ground;
}

}  // namespace fbleprof::signal_safe
