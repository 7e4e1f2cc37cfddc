// Each system call of the recorder fails once with each error that it can give. The program must
// behave as it does without the profiler; a profile that exists must be readable, and say so if it
// is incomplete.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "tests/proof/proofs.h"
#include "tests/proof/tracee.h"

namespace fbleprof::proof {

namespace {

struct Call {
  long number;
  const char* name;
  std::vector<int> errors;  // what the kernel can answer to what the recorder asks
};

// Leaves out calls that cannot fail as the recorder makes them (getpid, rt_sigprocmask), and calls
// that the program itself makes through an interposed function (fork, execve).
const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      {SYS_access, "access", {EACCES, ENOENT, ENOMEM}},
      {SYS_capget, "capget", {EPERM}},
      {SYS_close, "close", {EIO, EINTR}},
      {SYS_fcntl, "fcntl", {EINVAL, EAGAIN, ENOSYS}},
      {SYS_flock, "flock", {EWOULDBLOCK, ENOLCK, EINTR}},
      {SYS_fstat, "fstat", {EIO, ENOMEM}},
      {SYS_ftruncate, "ftruncate", {ENOSPC, EFBIG, EIO, EINTR, EPERM}},
      {SYS_futex, "futex", {ENOSYS, EFAULT}},
      {SYS_getcwd, "getcwd", {ENOENT, ENOMEM}},
      {SYS_getrusage, "getrusage", {ENOSYS}},
      {SYS_ioctl, "ioctl", {EINVAL, ENOTTY}},
      {SYS_link, "link", {EACCES, EEXIST, ENOSPC, EMLINK, EPERM, EROFS}},
      {SYS_linkat, "linkat", {EACCES, EEXIST, ENOENT, ENOSPC, EDQUOT, EIO, EROFS}},
      {SYS_lstat, "lstat", {EACCES, ENOENT, ENOMEM}},
      {SYS_madvise, "madvise", {EINVAL, ENOMEM, EAGAIN, EFAULT, ENOSYS}},
      {SYS_mincore, "mincore", {ENOSYS, EAGAIN}},
      {SYS_mmap, "mmap", {ENOMEM, EAGAIN, ENODEV, EACCES}},
      {SYS_mprotect, "mprotect", {ENOMEM, EACCES}},
      {SYS_mremap, "mremap", {ENOMEM, EAGAIN}},
      {SYS_munmap, "munmap", {ENOMEM}},
      {SYS_nanosleep, "nanosleep", {EINTR}},
      {SYS_open, "open", {EACCES, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS, EOPNOTSUPP, EIO}},
      {SYS_openat, "openat", {EACCES, EMFILE, ENOMEM}},
      {SYS_perf_event_open, "perf_event_open", {EACCES, EMFILE, ENOENT, ENOSYS, ENOMEM}},
      {SYS_prctl, "prctl", {EINVAL}},
      {SYS_pread64, "pread64", {EIO, EINTR}},
      {SYS_process_vm_readv, "process_vm_readv", {ENOSYS, EPERM, ENOMEM}},
      {SYS_pwrite64, "pwrite64", {ENOSPC, EDQUOT, EIO, EINTR, EFBIG}},
      {SYS_read, "read", {EIO, EINTR}},
      {SYS_readlink, "readlink", {EACCES, ENOENT}},
      {SYS_rename, "rename", {EACCES, ENOSPC, EIO}},
      {SYS_renameat2, "renameat2", {EINVAL, ENOSYS, ENOSPC, EACCES}},
      {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo", {EAGAIN}},
      {SYS_rt_sigtimedwait, "rt_sigtimedwait", {EAGAIN, EINTR}},
      {SYS_stat, "stat", {EACCES, ENOENT}},
      {SYS_timer_create, "timer_create", {EAGAIN, ENOMEM, ENOSYS}},
      {SYS_timer_delete, "timer_delete", {EINVAL}},
      {SYS_timer_settime, "timer_settime", {EINVAL}},
      {SYS_uname, "uname", {EFAULT}},
      {SYS_unlink, "unlink", {EACCES, EIO, EROFS}},
      {SYS_wait4, "wait4", {EINTR, ECHILD}},
      {SYS_write, "write", {EAGAIN, EIO, EPIPE}},
  };
  return all;
}

const Call* find_call(long number) {
  const auto found = std::find_if(calls().begin(), calls().end(),
                                  [&](const Call& call) { return call.number == number; });
  return found == calls().end() ? nullptr : &*found;
}

// The n-th call of a kind.
struct Point {
  long number;
  unsigned n;
  auto operator<=>(const Point&) const = default;
};

// Runs the program; makes `point` fail with `error`. With neither: lists the points.
End run_failing(const Run& run, const Point* point, int error, std::set<Point>* points) {
  Tracee program(run, true);
  std::map<long, unsigned> seen;
  pid_t failing = 0;
  program.run_by_calls([&](Task& task, bool is_end, user_regs_struct& state) {
    if (is_end) {
      if (task.tid != failing) return false;
      failing = 0;
      state.rax = static_cast<unsigned long>(-error);
      return true;
    }
    const auto number = static_cast<long>(state.orig_rax);
    if (!find_call(number) || !program.is_recorders(task.tid, state.rip)) return false;
    const Point here{number, ++seen[number]};
    if (points) points->insert(here);
    if (!point || here != *point) return false;
    failing = task.tid;
    // A failing close has closed the descriptor anyway.
    if (number == SYS_close) return false;
    state.orig_rax = ~0ul;
    return true;
  });
  return {program.status(), run.text_of("out")};
}

bool is_only_ours(const std::string& err) {
  std::size_t at = 0;
  while (at < err.size()) {
    const std::size_t end = std::min(err.find('\n', at), err.size());
    if (err.compare(at, 10, "fbleprof: ") != 0) return false;
    at = end + 1;
  }
  return true;
}

struct Row {
  unsigned points = 0, whole = 0, told = 0, none = 0, wrong = 0;
};

class Table {
 public:
  Row& row(const Call& call, int error) { return rows_[{call.name, error}]; }
  void print() const {
    fmt::print("{:<18} {:<12} {:>6} {:>6} {:>10} {:>10} {:>6}\n", "call", "error", "points",
               "whole", "loss told", "no profile", "wrong");
    for (const auto& [key, row] : rows_) {
      fmt::print("{:<18} {:<12} {:>6} {:>6} {:>10} {:>10} {:>6}\n", key.first,
                 strerrorname_np(key.second), row.points, row.whole, row.told, row.none, row.wrong);
    }
  }

 private:
  std::map<std::pair<std::string, int>, Row> rows_;
};

// The problem of a run in which a call failed; notes in the row what the run left.
std::vector<std::string> judge(const Run& run, const End& plain, const End& end, Row& row) {
  std::vector<std::string> problems;
  if (end != plain) problems.push_back(fmt::format("{} instead of {}", end.shown(), plain.shown()));
  const std::string err = run.text_of("err");
  if (!is_only_ours(err)) problems.push_back(fmt::format("on stderr: {:?}", err));
  const auto images = images_of(run);
  const Findings findings = examine(images, truth_of(run, 0));
  problems.insert(problems.end(), findings.problems.begin(), findings.problems.end());
  const bool is_told = findings.is_told || !err.empty();
  if (images.empty()) {
    ++row.none;
    if (!is_told) problems.push_back("no profile, and nothing says why");
  } else if (findings.is_whole) {
    ++row.whole;
  } else {
    ++row.told;
    if (!is_told)
      problems.push_back(
          fmt::format("{} calls are missing, and nothing says so", findings.missing));
  }
  return problems;
}

}  // namespace

int prove_faults(const Setup& setup, const Bound& bound) {
  const std::vector<Scenario> scenarios = {{"calls"}, {"threads"}, {"fork"},  {"exec"},
                                           {"load"},  {"grow"},    {"fatal"}, {"memory"}};
  Table table;
  unsigned runs = 0, problems = 0;
  for (const Scenario& scenario : scenarios) {
    if (!bound.wants(scenario.name)) continue;
    const End plain = plain_end(setup, scenario);
    std::set<Point> points;
    for (int twice = 0; twice < 2; ++twice) {
      // Repeats the test with the plans that the first run made.
      Run run(setup, scenario);
      points.clear();
      run_failing(run, nullptr, 0, &points);
    }
    unsigned turn = 0;
    for (const Point& point : points) {
      const Call& call = *find_call(point.number);
      for (const int error : call.errors) {
        if (turn++ % bound.stride != 0) continue;
        Run run(setup, scenario);
        const End end = run_failing(run, &point, error, nullptr);
        Row& row = table.row(call, error);
        ++row.points;
        ++runs;
        for (const std::string& problem : judge(run, plain, end, row)) {
          ++row.wrong;
          if (++problems <= 60) {
            fmt::print("{} {}: {} number {} fails with {}: {}\n", scenario.name, setup.mode.name,
                       call.name, point.n, strerrorname_np(error), problem);
            std::fflush(stdout);
          }
        }
      }
    }
    fmt::print("{} {}: {} calls\n", scenario.name, setup.mode.name, points.size());
    std::fflush(stdout);
  }
  table.print();
  fmt::print("failing system calls: {} runs, {} problems\n", runs, problems);
  return static_cast<int>(problems);
}

}  // namespace fbleprof::proof
