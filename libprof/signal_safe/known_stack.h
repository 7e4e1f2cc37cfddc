// The frames that the last walk of a thread's stack found, so that the next walk can reuse them.
//
// Between two samples most of a deep stack stays the same. A walk stops where it meets the stack of
// the last walk: at a few frames in a row with the same return addresses in the same places. Older
// frames are checked, not walked: the places must still hold the same return addresses. Up to
// kCheckedInAll older frames, all are checked. Of more, the newest, the oldest, and a part of the
// rest that moves on from sample to sample: reading a stack of megabytes each time would cost more
// than the program. A change in the middle alone is then seen some samples late.
//
// A walk beyond kMaxFrames takes from a budget of 2 % of the thread's time. When the budget is used
// up, both ends are kept: the newest frames, and the oldest ones that the check confirms. The next
// such walk waits until the budget is twice as large, so that a deep stack is walked to its end
// after some samples.
//
// Functions of scripts are frames, too. Their runtime names two words of its memory that tell
// whether the function is still on the stack (fbleprof_frame).
//
// All functions: the thread itself, in a hook or in the handler; no lock; bounded as above.
#pragma once

#include <cstdint>

#include "format/format.h"
#include "signal_safe/pages.h"

namespace fbleprof::signal_safe {

inline constexpr std::uint32_t kMaxFrames = 1024;  // of a walk, always
// Of a walk within its budget: nearly as many frames as fit into 8 MB.
inline constexpr std::uint32_t kDeepestFrames = 1u << 18;

// A frame of a walked stack.
struct WalkedFrame {
  std::uint64_t slot;    // where `pc` is on the stack; 0: in a register, or a signal's context
  std::uint64_t pc;      // where its code continues
  std::uint64_t fp;      // if its size depends on it; else 0
  format::Ref function;  // or 0
  format::Ref context;   // its node, once the path is known

  // A function of a script: `slot` and `fp` are the addresses of the runtime's words, and `pc` is
  // made of their values.
  static WalkedFrame of_script(const std::uint64_t* places, const std::uint64_t* values,
                               format::Ref function);
  bool is_script() const { return pc >> 63 != 0; }
  std::uint64_t site() const { return is_script() ? 0 : pc; }
  // Whether the frame is still where it was. Reads `slot`, which must not be 0.
  bool is_there() const;
};

// The ground under the frames of a walk: the end of the walk, and the tree of its contexts.
struct Ground {
  const void* entry = nullptr;  // of the shadow stack; null: none to recognize
  std::uint64_t frame = 0, word = 0;
  format::Ref context = 0, root = 0;
  std::uint32_t epoch = 0;   // of the code map
  bool has_scripts = false;  // a runtime's stack was read
  bool operator==(const Ground&) const = default;
};

class KnownStack {
 public:
  // Begins a walk. `now_ns`: the thread's CPU time, which earns the budget.
  void begin(std::uint64_t now_ns);

  // The next walk is that of another thread, with another stack and clock.
  void forget() {
    known_count_ = 0;
    paid_until_ns_ = least_budget_ = 0;
    budget_ = kDeepestFrames;
  }

  // The place for the next frame of the walk; null: the walk ends here. `is_deep`: whether there
  // may be more than kMaxFrames. Frames are numbered from the innermost.
  WalkedFrame* next(Pages& pages, bool is_deep);
  // Takes the newest walked frame back: the tree does not show it.
  void drop() { --walked_count_; }
  std::uint32_t walked() const { return walked_count_; }
  WalkedFrame& walked(std::uint32_t i) { return walked_frames()[i]; }

  // Whether the newest walked frame has met the last walk's stack, above the same ground. Then
  // older() is the frame below the walked frames.
  bool has_met(const Ground& ground);
  // After a walk that could not continue, at a stack pointer above all frames that it saw: whether
  // the oldest frames of the last walk are confirmed. Then older() is the newest of them.
  bool confirms_oldest(const Ground& ground, std::uint64_t sp);
  const WalkedFrame& older() const { return known_frames()[kept_ - 1]; }

  // Remembers the walked frames, above those that has_met kept, for the next walk.
  void remember(const Ground& ground);
  // How many walks began; whether all frames of the last walk are remembered, except the innermost
  // if it has no return address on the stack; the number of these frames; and the i-th from the
  // innermost.
  std::uint32_t walks() const { return walks_; }
  bool is_whole() const { return is_whole_; }
  std::uint32_t frames() const { return known_count_; }
  const WalkedFrame& frame(std::uint32_t i) const { return known_frames()[known_count_ - 1 - i]; }

 private:
  static constexpr std::uint32_t kSameInARow = 8;
  static constexpr std::uint32_t kCheckedInAll = 1024;
  static constexpr std::uint32_t kCheckedAtAnEnd = 256, kCheckedBetween = 512;
  static constexpr std::uint64_t kNsPerFrame = 40 * 50;  // 40 ns of work: 2 % of that
  static constexpr std::uint32_t kNone = ~0u;

  WalkedFrame* walked_frames() { return deep_ ? deep_ : shallow_walked_; }
  WalkedFrame* known_frames() { return deep_ ? deep_ + kDeepestFrames : shallow_known_; }
  const WalkedFrame* known_frames() const {
    return deep_ ? deep_ + kDeepestFrames : shallow_known_;
  }
  bool make_deep(Pages& pages);
  std::uint32_t find(std::uint64_t slot);
  std::uint32_t& index_of(std::uint64_t slot);
  void note(std::uint32_t known);
  std::uint32_t first_changed(std::uint32_t begin, std::uint32_t end) const;
  std::uint32_t first_changed(std::uint32_t count);

  // Both kinds of frames, once a walk was deeper than kMaxFrames.
  WalkedFrame* deep_ = nullptr;
  bool may_deepen_ = true;
  Ground ground_;
  std::uint32_t known_count_ = 0;  // the oldest comes first
  std::uint32_t walked_count_ = 0;
  std::uint32_t steps_ = 0;  // of this walk, those to dropped frames included
  std::uint32_t kept_ = 0;
  std::uint32_t walks_ = 0;
  bool is_whole_ = false;
  std::uint32_t expected_ = kNone, in_a_row_ = 0;  // the known frame that the next one should be
  std::uint32_t check_from_ = 0;                   // of those between
  std::uint64_t budget_ = kDeepestFrames, paid_until_ns_ = 0;
  std::uint64_t least_budget_ = 0;  // for a walk beyond kMaxFrames
  // Known frames by the hash of their slots. An entry may be out of date.
  std::uint32_t* deep_index_ = nullptr;
  std::uint32_t shallow_index_[2 * kMaxFrames];
  WalkedFrame shallow_known_[kMaxFrames];
  WalkedFrame shallow_walked_[kMaxFrames];
};

}  // namespace fbleprof::signal_safe
