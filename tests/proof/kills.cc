// SIGKILL at random moments of a program with threads and children that runs freely.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
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

void kill_group(pid_t pid) {
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  status_of(pid);
  // All children have ended when the group is empty.
  while (kill(-pid, 0) == 0) usleep(100);
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
    for (run_ = 0; run_ < runs_; ++run_) {
      const Run run(setup_, scenario_);
      judge(run, setup_.mode.is_attached ? kill_attached(run) : kill_recorded(run));
    }
    fmt::print("killed at random moments: {}: {} runs, {} files, {} calls, {} problems\n",
               setup_.mode.name, runs_, files_, calls_, problems_);
    std::fflush(stdout);
    return problems_;
  }

 private:
  // Two threads, the first one, and a child.
  static constexpr unsigned kInFlight = 4;

  Truth kill_recorded(const Run& run) {
    const pid_t pid = start(run);
    usleep(chance_() % 40'000);
    kill_group(pid);
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
    kill_group(pid);
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
    // A child that has not made its file yet has not made a call either.
    if (findings.missing > 0) tell(fmt::format("{} calls are missing", findings.missing));
  }

  void tell(const std::string& problem) {
    if (++problems_ > 20) return;
    fmt::print("{} run {}: {}\n", setup_.mode.name, run_, problem);
    std::fflush(stdout);
  }

  const Setup& setup_;
  const Scenario scenario_{"busy", {"FBLEPROF_RATE=2000"}};
  const unsigned runs_;
  std::mt19937 chance_{20'261};
  unsigned run_ = 0, problems_ = 0, files_ = 0;
  std::uint64_t calls_ = 0;
};

// A run to its end, which leaves the plans of --exact in their directory. Whether it ended well.
bool make_plans(const Setup& setup) {
  const Scenario scenario{"calls"};
  const Run run(setup, scenario);
  return status_of(start(run)) == 0;
}

}  // namespace

int prove_kills(const Setup& setup, const Bound& bound) {
  if (!make_plans(setup)) {
    fmt::print("{}: the program does not run\n", setup.mode.name);
    return 1;
  }
  return static_cast<int>(Kills(setup, bound.quick ? 15 : bound.runs).run_all());
}

}  // namespace fbleprof::proof
