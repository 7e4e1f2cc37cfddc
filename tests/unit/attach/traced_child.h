// A child process for tests of attaching: a copy of the test, so what the test knows of its own
// memory holds in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

namespace fbleprof::attach::test {

class TracedChild {
 public:
  // Runs `work`, which must not return before the child is killed or has been told to end, and ends
  // with its result.
  explicit TracedChild(const std::function<int()>& work);
  ~TracedChild();
  TracedChild(const TracedChild&) = delete;
  TracedChild& operator=(const TracedChild&) = delete;

  pid_t pid() const { return pid_; }
  // Waits until `work` is about to run.
  void wait_for_work() const;
  // Waits until the main thread computes at this address.
  bool computes_at(const void* address) const;
  // Waits until the main thread is in this system call; false if it never is.
  bool waits_in(long system_call) const;
  // The same for the state in /proc/PID/stat.
  bool is_in_state(char state) const;
  // The child's exit status; below 0: the signal that ended it.
  int end();

 private:
  pid_t pid_;
  bool* works_;  // shared with the child
};

// For `work`: sleeps until end() or a signal; then 0.
int sleep_until_told();

// Memory of this process, and so of later children, that may be written and run.
std::uint8_t* code_memory(std::size_t bytes);

// False where the system forbids that a process traces its own child.
bool may_trace();

}  // namespace fbleprof::attach::test
