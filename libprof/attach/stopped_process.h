// All threads of a process, stopped at once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "attach/tracee.h"
#include "base/result.h"

namespace fbleprof::attach {

class StoppedProcess {
 public:
  explicit StoppedProcess(pid_t pid) : pid_(pid) {}

  // Stops the threads that run, also those that others make meanwhile. If this fails, some are
  // stopped.
  Status stop();
  // Lets these threads continue.
  void let_go(const std::function<bool(const Tracee&)>& which);

  const std::vector<Tracee>& threads() const { return threads_; }

 private:
  bool holds(pid_t tid) const;
  // Whether it met no thread that runs.
  Result<bool> stop_listed();

  pid_t pid_;
  std::vector<Tracee> threads_;
};

}  // namespace fbleprof::attach
