// SIGKILL at random moments of a program with threads and children that runs freely, and of one
// whose threads compute in user mode only.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <random>

#include "tests/proof/proofs.h"

namespace fbleprof::proof {

namespace {

int status_of(pid_t pid) {
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

// The program, in a process group of its own with all its children.
pid_t start(const Run& run) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    run.become(!run.mode().is_attached);
  }
  setpgid(pid, pid);
  return pid;
}

// Waits for the children that the program has at this moment. False: one does not end.
bool wait_for_children_of(pid_t pid) {
  constexpr int kMostMs = 20'000;
  const std::string task = std::to_string(pid);
  std::ifstream list("/proc/" + task + "/task/" + task + "/children");
  int waited = 0;
  for (pid_t child; list >> child;) {
    for (; kill(child, 0) == 0; ++waited) {
      if (waited > kMostMs) return false;
      usleep(1000);
    }
  }
  return true;
}

// Of a process, threads that had ended included. It keeps its clock until it is waited for.
std::uint64_t cpu_ns_of(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Not elapsed time, in which a process gets little done on a busy machine.
void wait_for_cpu_time(pid_t pid, std::uint64_t ns) {
  constexpr int kMostMs = 20'000;
  for (int waited = 0; cpu_ns_of(pid) < ns && waited < kMostMs; ++waited) usleep(1000);
}

// CPU time of each process that was killed.
using Used = std::map<std::uint32_t, std::uint64_t>;

// Also children of children, which become ours when their parents have ended.
Used end_group(pid_t pid, int signal) {
  Used used;
  kill(-pid, signal);
  kill(pid, signal);
  siginfo_t ended{};
  while (waitid(P_PGID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) == 0) {
    if (const std::uint64_t ns = cpu_ns_of(ended.si_pid)) {
      used[static_cast<std::uint32_t>(ended.si_pid)] = ns;
    }
    status_of(ended.si_pid);
  }
  return used;
}

pid_t start_attaching(const Setup& setup, const Run& run, pid_t to) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("XDG_CACHE_HOME", setup.plans.c_str(), 1);
    const std::string told = run.path_of("attach"), profile = run.path_of("mlmon.out");
    if (!freopen(told.c_str(), "w", stderr)) _exit(98);
    execl(setup.launcher.c_str(), "fble-prof", "attach", "--exact", "-o", profile.c_str(),
          std::to_string(to).c_str(), nullptr);
    _exit(98);
  }
  return pid;
}

class Kills {
 public:
  Kills(const Setup& setup, unsigned runs) : setup_(setup), runs_(runs) {}

  unsigned run_all() {
    if (!setup_.mode.is_attached) measure_uncharged();
    for (run_ = 0; run_ < runs_; ++run_) {
      const bool computes = !setup_.mode.is_attached && run_ % kOneComputesIn == 0;
      const Run run(setup_, computes ? computing_ : busy_);
      judge(run, computes                  ? kill_computing(run)
                 : setup_.mode.is_attached ? kill_attached(run)
                                           : kill_busy(run));
    }
    if (!setup_.mode.is_attached) judge_computing();
    fmt::print(
        "killed at random moments: {}: {} runs, {} files, {} calls; of {} processes at most {:.1f} "
        "ms missing ({:.1f} ms are of start and end), of {} threads that compute {:.1f} ms on "
        "average, {} problems\n",
        setup_.mode.name, runs_, files_, calls_, judged_, ms(most_missing_ns_), ms(uncharged_ns_),
        computing_threads_, ms(average_missing_ns()), problems_);
    std::fflush(stdout);
    return problems_;
  }

 private:
  // Two threads, the first one, and a child.
  static constexpr unsigned kInFlight = 4;

  Truth kill_busy(const Run& run) {
    const pid_t pid = start(run);
    usleep(chance_() % 40'000);
    used_ = end_group(pid, SIGKILL);
    return truth_of(run, kInFlight);
  }

  // After so much work that what may be missing is a small part of it.
  Truth kill_computing(const Run& run) {
    const pid_t pid = start(run);
    wait_for_cpu_time(pid, 300'000'000 + chance_() % 500'000'000);
    used_ = end_group(pid, SIGKILL);
    for_each_missing(images_of(run), [&](const Charged& charged, std::uint64_t ns) {
      computing_threads_ += charged.threads_running;
      computing_missing_ns_ += ns;
    });
    return truth_of(run, kInFlight);
  }

  // Each second time the kill comes while fble-prof attaches; then any call may be missing.
  Truth kill_attached(const Run& run) {
    const pid_t pid = start(run);
    while (counted_of(run).calls[0] == 0) usleep(1000);
    const Counted before = counted_of(run);
    const pid_t tool = start_attaching(setup_, run, pid);
    const bool is_attached = chance_() % 2 == 0;
    Counted after{};
    if (is_attached) {
      if (status_of(tool) != 0) tell("attach failed: " + run.text_of("attach"));
      // They may be older than the change of the text.
      if (!wait_for_children_of(pid)) tell("a child hangs");
      after = counted_of(run);
    }
    usleep(chance_() % (is_attached ? 40'000 : 400'000));
    used_ = end_group(pid, SIGKILL);
    if (!is_attached) status_of(tool);
    Truth truth{{}, counted_of(run), kInFlight};
    for (int i = 0; i < Counted::kFunctions; ++i) {
      if (is_attached) truth.least.calls[i] = truth.most.calls[i] - after.calls[i];
      truth.most.calls[i] -= before.calls[i];
    }
    return truth;
  }

  void judge(const Run& run, const Truth& truth) {
    const auto images = images_of(run);
    const Findings findings = examine(images, truth);
    files_ += static_cast<unsigned>(images.size());
    for (const std::uint64_t n : truth.most.calls) calls_ += n;
    for (const std::string& problem : findings.problems) tell(problem);
    if (!setup_.mode.is_attached) judge_time(images);
    // A child that has not made its file yet has not made a call either.
    if (findings.missing > 0) tell(fmt::format("{} calls are missing", findings.missing));
  }

  // What start-up, the ends of threads and the end of a process take outside of all recorded time:
  // a signal that can be handled charges the rest. It has a limit, as a recorder that charges
  // nothing would raise its own bound; single programs take longer on a busy machine.
  void measure_uncharged() {
    constexpr int kRuns = 10;
    constexpr std::uint64_t kMostNs = 10'000'000;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < kRuns; ++i) {
      const Run run(setup_, busy_);
      const pid_t pid = start(run);
      usleep(20'000 + chance_() % 20'000);
      used_ = end_group(pid, SIGTERM);
      for_each_missing(images_of(run),
                       [&](const Charged&, std::uint64_t ns) { all.push_back(ns); });
    }
    std::sort(all.begin(), all.end());
    const std::uint64_t median = all.empty() ? 0 : all[all.size() / 2];
    if (all.empty() || median > kMostNs) {
      tell(fmt::format("start and end of {} processes take {} ns that are not charged, at most {}",
                       all.size(), median, kMostNs));
    }
    uncharged_ns_ = std::min(all.empty() ? 0 : all.back(), 2 * kMostNs);
  }

  template <typename Function>
  void for_each_missing(const std::vector<Image>& images, Function function) const {
    for (const Image& image : images) {
      const Charged charged = charged_of(image);
      const auto found = used_.find(charged.pid);
      if (found == used_.end()) continue;  // it ended by itself
      function(charged, found->second > charged.ns ? found->second - charged.ns : 0);
    }
  }

  // Each running thread lacks a period of its own time, and of the kernel's what is put aside
  // (sample.cc), on a busy machine up to the 40 ms after which it is charged.
  void judge_time(const std::vector<Image>& images) {
    constexpr std::uint64_t kPutAsideNs = 40'000'000;
    constexpr std::uint64_t kEachNs = kPeriodNs + kPutAsideNs;
    for_each_missing(images, [&](const Charged& charged, std::uint64_t ns) {
      ++judged_;
      most_missing_ns_ = std::max(most_missing_ns_, ns);
      const std::uint64_t threads = std::max<std::uint64_t>(1, charged.threads_running);
      const std::uint64_t most = threads * kEachNs + 2 * uncharged_ns_;
      if (ns > most) {
        tell(fmt::format("{} ns of CPU time are missing, with {} threads at most {}", ns, threads,
                         most));
      }
    });
  }

  // User time is not put aside. But interrupts and the scheduler are the kernel's, and what delays
  // a sample by half a period is: some 2 ms in each thread, up to 13 ms with five programs per
  // processor. The threads compute for 100 to 270 ms.
  void judge_computing() {
    constexpr std::uint64_t kDelayedNs = 20'000'000;
    if (judged_ == 0 || computing_threads_ == 0) tell("no process's CPU time was compared");
    const std::uint64_t most = kPeriodNs + kDelayedNs;
    if (average_missing_ns() > most) {
      tell(fmt::format("{} ns of each thread that computes are missing, on average; at most {}",
                       average_missing_ns(), most));
    }
  }

  std::uint64_t average_missing_ns() const {
    return computing_missing_ns_ / std::max<std::uint64_t>(1, computing_threads_);
  }
  static double ms(std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

  void tell(const std::string& problem) {
    if (++problems_ > 20) return;
    fmt::print("{} run {}: {}\n", setup_.mode.name, run_, problem);
    std::fflush(stdout);
  }

  const Setup& setup_;
  static constexpr unsigned kRateHz = 2000, kOneComputesIn = 5;
  static constexpr std::uint64_t kPeriodNs = 1'000'000'000 / kRateHz;
  const std::vector<std::string> settings_{fmt::format("FBLEPROF_RATE={}", kRateHz)};
  const Scenario busy_{"busy", settings_}, computing_{"compute", settings_};
  const unsigned runs_;
  std::mt19937 chance_{20'261};
  unsigned run_ = 0, problems_ = 0, files_ = 0, judged_ = 0;
  std::uint64_t calls_ = 0;
  Used used_;
  std::uint64_t uncharged_ns_ = 0, most_missing_ns_ = 0;
  std::uint64_t computing_threads_ = 0, computing_missing_ns_ = 0;
};

// A run to its end, which leaves the plans of --exact in their directory. Whether it ended well.
bool make_plans(const Setup& setup) {
  const Scenario scenario{"calls"};
  const Run run(setup, scenario);
  return status_of(start(run)) == 0;
}

}  // namespace

int prove_kills(const Setup& setup, const Bound& bound) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!make_plans(setup)) {
    fmt::print("{}: the program does not run\n", setup.mode.name);
    return 1;
  }
  return static_cast<int>(Kills(setup, bound.quick ? 15 : bound.runs).run_all());
}

}  // namespace fbleprof::proof
