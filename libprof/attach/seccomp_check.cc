#include "attach/seccomp_check.h"

#include <linux/capability.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attach/refusal.h"
#include "attach/tracee.h"
#include "control/process.h"

namespace fbleprof::attach {

namespace {

constexpr char kStrict[] = "1", kFiltered[] = "2";  // "Seccomp:" in /proc/PID/status

// What the kernel asks of who wants to see filters. We ask before it does, because a thread must be
// stopped for that.
bool may_see_filters() {
  const pid_t own = getpid();
  const auto capabilities =
      std::strtoull(control::status_field(own, "CapEff").c_str(), nullptr, 16);
  std::error_code failure;
  constexpr char kFirstNamespace[] = "user:[4026531837]";
  return (capabilities >> CAP_SYS_ADMIN & 1) != 0 && control::status_field(own, "Seccomp") == "0" &&
         std::filesystem::read_symlink("/proc/self/ns/user", failure) == kFirstNamespace;
}

// The filters of a stopped thread; none: the kernel does not tell.
std::optional<SeccompFilters> filters_of(pid_t tid) {
  SeccompFilters filters;
  for (;;) {
    const auto ask = [&](void* to) {
      return ptrace(PTRACE_SECCOMP_GET_FILTER, tid, filters.size(), to);
    };
    const long length = ask(nullptr);
    if (length < 0 && errno == ENOENT) return filters;  // behind the last one
    if (length < 0) return std::nullopt;
    std::vector<sock_filter> filter(static_cast<std::size_t>(length));
    if (ask(filter.data()) != length) return std::nullopt;
    filters.push_back(std::move(filter));
  }
}

Error refusal_by(pid_t pid, const HarmedCall& call) {
  const char* verdict = call.verdict == Verdict::kFails ? "does not allow " : "may end it at ";
  return error_of(
      pid,
      "its filter of system calls (seccomp) " + (verdict + call.name) + ", which attaching takes",
      "start it under fble-prof instead");
}

Error refusal_of_unknown(pid_t pid) {
  return error_of(pid,
                  "it has filters of system calls (seccomp) that cannot be seen from here, and may "
                  "end it at a call of the recorder's",
                  "be root outside of containers, or take the risk with --despite-seccomp");
}

// A thread that has filters, and how many; "" if the kernel does not say.
struct Confined {
  pid_t tid;
  std::string count;
};

bool is_container(const std::vector<Confined>& threads) {
  const std::string own = control::status_field(getpid(), "Seccomp_filters");
  return !own.empty() && own != "0" &&
         std::all_of(threads.begin(), threads.end(),
                     [&](const Confined& each) { return each.count == own; });
}

// One that does not stop now starts a program, or waits for a device.
bool cannot_stop(const Confined& thread) {
  return control::status_field(thread.tid, "State").starts_with('D');
}

// What the thread's filters forbid; none: the kernel does not tell.
Result<std::optional<HarmedCall>> harmed_call_of(pid_t pid, pid_t tid, Recording recording) {
  auto thread = Tracee::stop(pid, tid);
  if (!thread) return thread.error();
  // Now, not when its filters are known: we may be killed meanwhile.
  const bool is_waiting = thread->wait_anew();
  const auto filters = filters_of(tid);
  if (!filters) return std::optional<HarmedCall>();
  const HarmedCall harmed = find_harmed_call(*filters, recording);
  if (is_waiting && harmed.verdict == Verdict::kAllowed) thread->wait_on();
  return std::optional(harmed);
}

Status check_filters(pid_t pid, std::vector<Confined> threads, Recording recording) {
  if (!may_see_filters()) {
    return is_container(threads) ? std::nullopt : Status(refusal_of_unknown(pid));
  }
  std::stable_partition(threads.begin(), threads.end(),
                        [](const Confined& each) { return !cannot_stop(each); });
  std::set<std::string> seen;
  for (const Confined& each : threads) {
    // It got its filters as the others did: together with them, or from the thread that made it.
    if (seen.contains(each.count) && cannot_stop(each)) continue;
    const auto harmed = harmed_call_of(pid, each.tid, recording);
    if (!harmed && has_ended(each.tid)) continue;
    if (!harmed) return harmed.error();
    if (!*harmed) return is_container(threads) ? std::nullopt : Status(refusal_of_unknown(pid));
    if ((*harmed)->verdict != Verdict::kAllowed) return refusal_by(pid, **harmed);
    seen.insert(each.count);
  }
  return std::nullopt;
}

}  // namespace

Status check_seccomp(pid_t pid, Recording recording, Filtered filtered) {
  std::vector<Confined> threads;
  for (const pid_t tid : control::threads_of(pid)) {
    const std::string mode = control::status_field(tid, "Seccomp");
    if (mode == kStrict) {
      return error_of(pid, "it allows itself no system calls but read, write and exit (seccomp)",
                      "start it under fble-prof instead");
    }
    if (mode == kFiltered) threads.push_back({tid, control::status_field(tid, "Seccomp_filters")});
  }
  if (threads.empty() || filtered == Filtered::kAccepted) return std::nullopt;
  return check_filters(pid, std::move(threads), recording);
}

}  // namespace fbleprof::attach
