#include "attach/stopped_process.h"

#include <algorithm>
#include <string>

#include "attach/borrowed_thread.h"
#include "control/process.h"

namespace fbleprof::attach {

namespace {

constexpr int kShortMs = 20;

}  // namespace

bool StoppedProcess::holds(pid_t tid) const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [tid](const Tracee& each) { return each.tid() == tid; });
}

Result<bool> StoppedProcess::stop_listed() {
  std::vector<Tracee> asked;
  for (const pid_t tid : control::threads_of(pid_)) {
    // Also a main thread that has ended before the others.
    if (holds(tid) || has_ended(tid)) continue;
    auto thread = Tracee::ask_to_stop(pid_, tid);
    if (!thread && has_ended(tid)) continue;
    if (!thread) return thread.error();
    asked.push_back(std::move(*thread));
  }
  Status failure;
  for (Tracee& thread : asked) {
    const Status bad = thread.wait_until_stopped(failure ? kShortMs : Tracee::kPatienceMs);
    if (!bad) threads_.push_back(std::move(thread));
    if (bad && !has_ended(thread.tid()) && !failure) failure = bad;
  }
  if (failure) return Error{*failure};
  return asked.empty();
}

// A list can miss a thread, if another one ends while it is read.
Status StoppedProcess::stop() {
  constexpr int kSameLists = 2;
  for (int same = 0; same < kSameLists;) {
    const auto is_whole = stop_listed();
    if (!is_whole) return is_whole.error();
    same = *is_whole ? same + 1 : 0;
  }
  if (threads_.empty()) return error_of(pid_, "it has ended");
  return std::nullopt;
}

void StoppedProcess::let_go(const std::function<bool(const Tracee&)>& which) {
  std::vector<Tracee> kept;
  for (Tracee& each : threads_) {
    if (!which(each)) kept.push_back(std::move(each));
  }
  threads_ = std::move(kept);
}

}  // namespace fbleprof::attach
