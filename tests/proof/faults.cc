// Each system call of the recorder fails once with each error that it can give. The program must
// behave as it does without the profiler; a profile that exists must be readable, and say so if it
// is incomplete.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tests/proof/proofs.h"
#include "tests/proof/tracee.h"

namespace fbleprof::proof {

namespace {

struct Call {
  long number;
  const char* name;
  std::vector<int> errors;  // what the kernel can answer to what the recorder asks
};

const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      {SYS_access, "access", {EACCES, ENOENT, ENOMEM}},
      {SYS_arch_prctl, "arch_prctl", {EINVAL}},
      {SYS_capget, "capget", {EPERM}},
      {SYS_close, "close", {EIO, EINTR}},
      {SYS_clone, "clone", {EAGAIN, ENOMEM}},
      {SYS_clone3, "clone3", {EAGAIN, ENOMEM, ENOSYS}},
      {SYS_close_range, "close_range", {ENOSYS, EINVAL}},
      {SYS_execve, "execve", {EACCES, ENOENT, ENOMEM, ETXTBSY}},
      {SYS_fcntl, "fcntl", {EINVAL, EAGAIN, ENOSYS}},
      {SYS_flock, "flock", {EWOULDBLOCK, ENOLCK, EINTR}},
      {SYS_fstat, "fstat", {EIO, ENOMEM}},
      {SYS_ftruncate, "ftruncate", {ENOSPC, EFBIG, EIO, EINTR, EPERM}},
      {SYS_futex, "futex", {ENOSYS, EFAULT}},
      {SYS_getcwd, "getcwd", {ENOENT, ENOMEM}},
      {SYS_getdents64, "getdents64", {ENOENT, ENOMEM}},
      {SYS_getrusage, "getrusage", {ENOSYS}},
      {SYS_ioctl, "ioctl", {EINVAL, ENOTTY}},
      {SYS_kill, "kill", {EPERM, ESRCH}},
      {SYS_link, "link", {EACCES, EEXIST, ENOSPC, EMLINK, EPERM, EROFS}},
      {SYS_linkat, "linkat", {EACCES, EEXIST, ENOENT, ENOSPC, EDQUOT, EIO, EROFS}},
      {SYS_lstat, "lstat", {EACCES, ENOENT, ENOMEM}},
      {SYS_madvise, "madvise", {EINVAL, ENOMEM, EAGAIN, EFAULT, ENOSYS}},
      {SYS_membarrier, "membarrier", {EINVAL, ENOSYS, EPERM}},
      {SYS_mincore, "mincore", {ENOSYS, EAGAIN}},
      {SYS_mlock2, "mlock2", {EAGAIN, ENOMEM, ENOSYS}},
      {SYS_mmap, "mmap", {ENOMEM, EAGAIN, ENODEV, EACCES}},
      {SYS_mprotect, "mprotect", {ENOMEM, EACCES}},
      {SYS_mremap, "mremap", {ENOMEM, EAGAIN}},
      {SYS_munlock, "munlock", {ENOMEM}},
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
      {SYS_sigaltstack, "sigaltstack", {ENOMEM, EPERM}},
      {SYS_stat, "stat", {EACCES, ENOENT}},
      {SYS_tgkill, "tgkill", {EAGAIN, ESRCH}},
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

// Calls that are not made to fail, because:
const std::set<long>& cannot_fail() {
  static const std::set<long> all = {
      // They only look, at what is always there.
      SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_clock_gettime,
      // The resource, the signal and the addresses are valid.
      SYS_getrlimit, SYS_prlimit64, SYS_rt_sigaction, SYS_rt_sigprocmask,
      // They do not return.
      SYS_exit, SYS_exit_group, SYS_rt_sigreturn,
      // Its result is not asked for.
      SYS_sched_yield};
  return all;
}

const Call* find_call(long number) {
  const auto found = std::find_if(calls().begin(), calls().end(),
                                  [&](const Call& call) { return call.number == number; });
  return found == calls().end() ? nullptr : &*found;
}

// How the recorder starts the tool that makes plans for --exact.
bool makes_plans(long number) {
  return number == SYS_clone || number == SYS_clone3 || number == SYS_close_range ||
         number == SYS_execve;
}
Setup with_plans_of_its_own(const Setup& setup) {
  Setup own = setup;
  own.plans += "/own";
  std::filesystem::create_directory(own.plans);
  chmod(own.plans.c_str(), 0700);
  own.mode = mode_named(setup.mode.name, own);
  return own;
}
void remove_plans(const Setup& own) { std::filesystem::remove_all(own.plans); }

// The n-th call of a kind.
struct Point {
  long number;
  unsigned n;
  auto operator<=>(const Point&) const = default;
};

// Runs the program; makes `point` fail with `error`. With neither: lists the points.
End run_failing(const Run& run, const Point* point, int error, std::set<Point>* points,
                std::set<long>* unknown) {
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
    if (!program.is_recorders(task.tid, state.rip)) return false;
    if (!find_call(number)) {
      if (unknown && !cannot_fail().contains(number)) unknown->insert(number);
      return false;
    }
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

// What a run says: notes of its profiles and lines on stderr. Numbers and names of its own are left
// out.
class Told {
 public:
  explicit Told(const Run& run) : Told(run, images_of(run)) {}
  Told(const Run& run, const std::vector<Image>& images) {
    for (const std::string& note : examine(images, truth_of(run, 0)).notes)
      notes_.insert(same(run, note));
    std::istringstream lines(run.text_of("err"));
    for (std::string line; std::getline(lines, line);) lines_.insert(same(run, line));
  }
  void add(const Told& other) {
    notes_.insert(other.notes_.begin(), other.notes_.end());
    lines_.insert(other.lines_.begin(), other.lines_.end());
  }
  bool has_other_notes_than(const Told& usual) const { return !is_in(notes_, usual.notes_); }
  bool has_other_lines_than(const Told& usual) const { return !is_in(lines_, usual.lines_); }

 private:
  static std::string same(const Run& run, std::string text) {
    for (std::size_t at; (at = text.find(run.directory())) != std::string::npos;)
      text.erase(at, run.directory().size());
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  }
  static bool is_in(const std::set<std::string>& some, const std::set<std::string>& all) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  }
  std::set<std::string> notes_, lines_;
};

struct Row {
  unsigned points = 0, whole = 0, told = 0, none = 0, wrong = 0;
  unsigned by_stderr = 0;  // of `told` and `none`: nothing else told
};

class Table {
 public:
  Row& row(const Call& call, int error) { return rows_[{call.name, error}]; }
  void print() const {
    fmt::print("{:<18} {:<12} {:>6} {:>6} {:>10} {:>10} {:>11} {:>6}\n", "call", "error", "points",
               "whole", "loss told", "no profile", "stderr only", "wrong");
    for (const auto& [key, row] : rows_) {
      fmt::print("{:<18} {:<12} {:>6} {:>6} {:>10} {:>10} {:>11} {:>6}\n", key.first,
                 strerrorname_np(key.second), row.points, row.whole, row.told, row.none,
                 row.by_stderr, row.wrong);
    }
  }
  unsigned by_stderr() const {
    unsigned all = 0;
    for (const auto& [key, row] : rows_) all += row.by_stderr;
    return all;
  }

 private:
  std::map<std::pair<std::string, int>, Row> rows_;
};

// The problem of a run in which a call failed; notes in the row what the run left. `usual`: what
// runs without a failure say, which tells nothing.
std::vector<std::string> judge(const Run& run, const End& plain, const Told& usual, const End& end,
                               Row& row) {
  std::vector<std::string> problems;
  if (end != plain) problems.push_back(fmt::format("{} instead of {}", end.shown(), plain.shown()));
  const std::string err = run.text_of("err");
  if (!is_only_ours(err)) problems.push_back(fmt::format("on stderr: {:?}", err));
  const auto images = images_of(run);
  const Findings findings = examine(images, truth_of(run, 0));
  problems.insert(problems.end(), findings.problems.begin(), findings.problems.end());
  const Told told(run, images);
  const bool is_in_profile = findings.is_counted || told.has_other_notes_than(usual);
  const bool is_told = is_in_profile || told.has_other_lines_than(usual);
  if (!findings.is_whole || images.empty()) row.by_stderr += is_told && !is_in_profile;
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
    std::set<Point> points, making_plans;
    std::set<long> unknown;
    std::optional<Told> usual;
    {
      const Setup own = with_plans_of_its_own(setup);
      Run run(own, scenario);
      run_failing(run, nullptr, 0, &making_plans, &unknown);
      remove_plans(own);
      usual.emplace(run);
    }
    for (int twice = 0; twice < 2; ++twice) {
      // Repeats the test with the plans that the first run made.
      Run run(setup, scenario);
      points.clear();
      run_failing(run, nullptr, 0, &points, &unknown);
      usual->add(Told(run));
    }
    // Only what a run with plans does not do.
    std::erase_if(making_plans, [](const Point& point) { return !makes_plans(point.number); });
    points.insert(making_plans.begin(), making_plans.end());
    for (const long number : unknown) {
      ++problems;
      fmt::print("{} {}: the recorder makes system call {}, which no list here has\n",
                 scenario.name, setup.mode.name, number);
    }
    unsigned turn = 0;
    for (const Point& point : points) {
      const Call& call = *find_call(point.number);
      for (const int error : call.errors) {
        if (turn++ % bound.stride != 0) continue;
        const bool is_first = makes_plans(point.number);
        const Setup own = is_first ? with_plans_of_its_own(setup) : setup;
        Run run(own, scenario);
        const End end = run_failing(run, &point, error, nullptr, nullptr);
        if (is_first) remove_plans(own);
        Row& row = table.row(call, error);
        ++row.points;
        ++runs;
        for (const std::string& problem : judge(run, plain, *usual, end, row)) {
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
  fmt::print("failing system calls: {} runs, {} told on stderr only, {} problems\n", runs,
             table.by_stderr(), problems);
  return static_cast<int>(problems);
}

}  // namespace fbleprof::proof
