#include "control/nudge.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "control/process.h"

namespace fbleprof::control {

namespace {

constexpr int kSamplingSignal = SIGPROF;
constexpr std::uint64_t kPeriodNs = 100'000;

// Linux's; libc's headers lack it.
struct Owner {
  int type, pid;
};
constexpr int kSetOwnerEx = 15, kOwnerIsThread = 0, kSetSignal = 10;

int open_event(perf_event_attr& attributes, pid_t tid) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

int open_event(pid_t tid) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = kPeriodNs;
  attributes.wakeup_events = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  // The next program would have no handler, and end by the signal.
  attributes.remove_on_exec = 1;
  int fd = open_event(attributes, tid);
  // Before Linux 5.13, only a thread that computes gets an event: it has its signal at once.
  if (fd < 0 && errno == EINVAL && status_field(tid, "State").starts_with('R')) {
    attributes.remove_on_exec = 0;
    fd = open_event(attributes, tid);
  }
  if (fd < 0) return fd;
  const Owner owner{kOwnerIsThread, tid};
  if (fcntl(fd, kSetOwnerEx, &owner) == 0 && fcntl(fd, kSetSignal, kSamplingSignal) == 0 &&
      fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
    return fd;
  }
  const int failure = errno;
  close(fd);
  errno = failure;
  return -1;
}

}  // namespace

Nudge::Nudge(pid_t pid) {
  if (!handles(pid, kSamplingSignal)) {
    refusal_ = ENOTSUP;
    return;
  }
  for (const pid_t tid : threads_of(pid)) {
    const int fd = open_event(tid);
    if (fd >= 0) {
      events_.push_back(fd);
    } else if (errno != EINVAL) {
      refusal_ = errno;
    }
  }
}

Nudge::~Nudge() {
  for (const int fd : events_) close(fd);
}

}  // namespace fbleprof::control
