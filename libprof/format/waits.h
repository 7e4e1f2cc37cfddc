// Kinds and lengths of waits, for the recorder and the report.
#pragma once

#include <cstdint>

#include "format/decades.h"

namespace fbleprof::format {

// What a thread waits for. kForEvents and kForPeers can be waits for work: an idle thread.
enum class WaitKind : std::uint32_t {
  kForOther = 0,   // time, files, locks, the ends of threads and processes
  kForEvents = 1,  // the next event: epoll_wait, accept, sigwait, pause and the like
  kForPeers = 2,   // another thread or process: conditions, semaphores, futexes, poll, read, queues
};

// Classes of lengths: below 100 us, below 1 ms, and so on by factors of ten; the last class is 10 s
// or more. The metrics that count them (Role::kWaitClass) come in this order.
inline constexpr std::uint32_t kWaitClasses = 7;
inline std::uint32_t wait_class(std::uint64_t ns) { return decade_of(ns, 100'000, kWaitClasses); }

}  // namespace fbleprof::format
