#include "signal_safe/preemption.h"

#include <linux/perf_event.h>

namespace fbleprof::signal_safe {

namespace {

// A head without contents, and the time. The ring holds a whole number of these.
struct Switch {
  perf_event_header head;
  std::uint64_t at_ns;  // the monotonic clock

  bool is_expected() const {
    return head.type == PERF_RECORD_SWITCH && head.size == sizeof(Switch);
  }
};

}  // namespace

std::uint64_t take_preempted(ThreadState& thread) {
  SwitchRing& ring = thread.switches;
  if (ring.page == nullptr) return 0;
  const auto* page = static_cast<const perf_event_mmap_page*>(ring.page);
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  if (head == ring.seen) return 0;
  const std::uint64_t begin = ring.seen;
  ring.seen = head;
  std::uint64_t sum = 0, left_ns = ring.left_ns;
  ring.left_ns = 0;
  if (ring.is_old || head - begin > SwitchRing::kBytes) {
    ring.is_old = false;
    return 0;
  }
  const char* data = static_cast<const char*>(ring.page) + SwitchRing::kHeadBytes;
  for (std::uint64_t at = begin; at < head; at += sizeof(Switch)) {
    const auto& one = *reinterpret_cast<const Switch*>(data + at % SwitchRing::kBytes);
    if (!one.is_expected()) return 0;
    if ((one.head.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
      left_ns = (one.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? one.at_ns : 0;
    } else {
      if (left_ns != 0 && one.at_ns > left_ns) sum += one.at_ns - left_ns;
      left_ns = 0;
    }
  }
  // The thread may have left its processor meanwhile, and the kernel written over what was read.
  if (__atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) - begin > SwitchRing::kBytes) return 0;
  return sum;
}

}  // namespace fbleprof::signal_safe
