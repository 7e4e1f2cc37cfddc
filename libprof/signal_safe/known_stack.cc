#include "signal_safe/known_stack.h"

#include "signal_safe/peek.h"

namespace fbleprof::signal_safe {

namespace {

std::uint64_t word_at(std::uint64_t address) {
  return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

constexpr std::uint64_t kScript = std::uint64_t{1} << 63;

std::uint64_t digest(std::uint64_t first, std::uint64_t second) {
  return (first * 0x9e3779b97f4a7c15u ^ second) | kScript;
}

}  // namespace

WalkedFrame WalkedFrame::of_script(const std::uint64_t* places, const std::uint64_t* values,
                                   format::Ref function) {
  return {places[0], digest(values[0], values[1]), places[1], function, 0};
}

bool WalkedFrame::is_there() const {
  if (!is_script()) return word_at(slot) == pc;
  std::uint64_t first, second;
  return peek(reinterpret_cast<const void*>(slot), &first, sizeof first) &&
         peek(reinterpret_cast<const void*>(fp), &second, sizeof second) &&
         digest(first, second) == pc;
}

void KnownStack::begin(std::uint64_t now_ns) {
  walked_count_ = steps_ = kept_ = in_a_row_ = 0;
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
  constexpr std::uint64_t kFrames = std::uint64_t{2} * kDeepestFrames;
  auto* frames = static_cast<WalkedFrame*>(
      pages.take(kFrames * (sizeof(WalkedFrame) + sizeof(std::uint32_t))));
  // Try once: a program without spare address space must not be asked at each sample.
  may_deepen_ = false;
  if (!frames) return false;
  for (std::uint32_t i = 0; i < kMaxFrames; ++i) {
    frames[i] = shallow_walked_[i];
    frames[kDeepestFrames + i] = shallow_known_[i];
  }
  deep_ = frames;
  deep_index_ = reinterpret_cast<std::uint32_t*>(frames + kFrames);
  for (std::uint32_t i = 0; i < known_count_; ++i) note(i);
  return true;
}

WalkedFrame* KnownStack::next(Pages& pages, bool is_deep) {
  if (steps_ >= kMaxFrames) {
    if (!is_deep || walked_count_ == kDeepestFrames) return nullptr;
    if (steps_ == kMaxFrames && budget_ < least_budget_) return nullptr;
    if (budget_ == 0) {
      const std::uint64_t wanted = std::uint64_t{2} * (steps_ - kMaxFrames);
      least_budget_ = wanted < kDeepestFrames ? wanted : kDeepestFrames;
      return nullptr;
    }
    if (walked_count_ >= kMaxFrames && !deep_ && !make_deep(pages)) return nullptr;
    --budget_;
  }
  ++steps_;
  return &walked_frames()[walked_count_++];
}

std::uint32_t& KnownStack::index_of(std::uint64_t slot) {
  const std::uint32_t mask = 2 * (deep_ ? kDeepestFrames : kMaxFrames) - 1;
  std::uint32_t* index = deep_ ? deep_index_ : shallow_index_;
  return index[static_cast<std::uint32_t>(slot * 0x9e3779b97f4a7c15u >> 40) & mask];
}

// The known frame with this slot; kNone also if its entry in the index had to go.
std::uint32_t KnownStack::find(std::uint64_t slot) {
  const std::uint32_t found = index_of(slot);
  return found < known_count_ && known_frames()[found].slot == slot ? found : kNone;
}

// Enters a new known frame into the index. An older frame keeps its entry: it will be there longer.
void KnownStack::note(std::uint32_t known) {
  const std::uint64_t slot = known_frames()[known].slot;
  std::uint32_t& entry = index_of(slot);
  const bool is_taken = entry < known && &index_of(known_frames()[entry].slot) == &entry;
  if (!is_taken) entry = known;
}

// The oldest frame from `begin` to `end` whose return address is another one; `end` if there is
// none.
std::uint32_t KnownStack::first_changed(std::uint32_t begin, std::uint32_t end) const {
  const WalkedFrame* known = known_frames();
  while (begin < end && known[begin].is_there()) ++begin;
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
  if (known_count_ == 0 || !ground.entry) return false;
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
  if (known_count_ == 0 || !ground.entry || !(ground == ground_)) return false;
  std::uint32_t count = 0;
  const WalkedFrame* known = known_frames();
  while (count < known_count_ && count < kCheckedAtAnEnd &&
         (known[count].is_script() || known[count].slot > sp) && known[count].is_there()) {
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
    if (frame.slot == 0) break;
    known[count] = frame;
    note(count++);
  }
  is_whole_ = i == first && !ground.has_scripts;
  known_count_ = count;
  ground_ = ground;
  least_budget_ = 0;
}

}  // namespace fbleprof::signal_safe
