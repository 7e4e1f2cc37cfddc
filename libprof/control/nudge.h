// Makes the recorder in another process look for requests, without disturbing the process.
//
// It opens a perf event on each thread of the process, in user mode only, with the recorder's own
// signal. The kernel sends the signal when the thread has computed for a moment. A thread that
// sleeps or is in a system call gets none, so no call returns early. The caller needs the right to
// watch the process: the same user, and kernel.perf_event_paranoid of 2 or less.
#pragma once

#include <sys/types.h>

#include <vector>

namespace fbleprof::control {

class Nudge {
 public:
  // Only for a process whose recorder handles the signal.
  explicit Nudge(pid_t pid);
  ~Nudge();
  Nudge(const Nudge&) = delete;
  Nudge& operator=(const Nudge&) = delete;

  // 0, or the errno with which the kernel refused all events.
  int refusal() const { return events_.empty() ? refusal_ : 0; }

 private:
  std::vector<int> events_;
  int refusal_ = 0;
};

}  // namespace fbleprof::control
