// Time that a thread spent in the kernel, in calls that are not known yet. Each part has the
// context of the sample that found it.
//
// A system call that a kernel tick meets takes parts, as many as there were since the tick before.
// A part that no call takes, because it was no system call (a page fault, a processor that the
// hypervisor gave to others), is charged to its own context. If one context got them all, a short
// run would show it with up to 40 ms too much.
//
// Belongs to one thread; the one that ends the process takes what is left, while the owner may run:
// the parts can then be wrong, but no loop gets long. No lock, no allocation, bounded: for the
// signal handler.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace fbleprof::signal_safe {

class KernelTime {
 public:
  struct Part {
    std::uint64_t ns = 0;
    format::Ref context = 0;  // 0: of another profile of the process
  };

  std::uint64_t total_ns() const { return total_ns_; }
  bool is_empty() const { return count_ - 1 >= kMostParts; }
  bool is_full() const { return count_ == kMostParts; }

  // Adds the newest part. Not when full.
  void add(Part part) {
    total_ns_ += part.ns;
    if (is_empty()) count_ = 0;
    if (count_ != 0 && at(count_ - 1).context == part.context) {
      at(count_ - 1).ns += part.ns;
    } else {
      at(count_++) = part;
    }
  }

  // Not when empty.
  Part take_oldest() {
    const Part part = at(0);
    first_ = (first_ + 1) % kMostParts;
    count_ -= 1;
    total_ns_ -= part.ns;
    return part;
  }

  // Takes `most` ns, or what there is, the newest first; how much.
  std::uint64_t take_newest(std::uint64_t most) {
    std::uint64_t taken = 0;
    while (taken < most && !is_empty()) {
      Part& newest = at(count_ - 1);
      const std::uint64_t rest = most - taken;
      const std::uint64_t ns = newest.ns < rest ? newest.ns : rest;
      newest.ns -= ns;
      taken += ns;
      if (newest.ns == 0) count_ -= 1;
    }
    total_ns_ -= taken;
    return taken;
  }

  // The thread goes on in another tree.
  void forget_contexts() {
    if (is_empty()) return;
    at(0) = {total_ns_, 0};
    count_ = 1;
  }

 private:
  static constexpr std::uint32_t kMostParts = 32;

  Part& at(std::uint32_t i) { return parts_[(first_ + i) % kMostParts]; }

  Part parts_[kMostParts];
  std::uint32_t first_ = 0, count_ = 0;
  std::uint64_t total_ns_ = 0;
};

}  // namespace fbleprof::signal_safe
