// A signal at each instruction of the recorder's slow paths, and wherever it holds a resource: the
// sampling signal, one whose handler in the program calls hooked functions, one that ends the
// program, and the one that a truncated file raises.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/proof/proofs.h"
#include "tests/proof/tracee.h"

namespace fbleprof::proof {

namespace {

void go_to_mark(Tracee& program) {
  program.run_by_calls([&](Task&, bool is_end, user_regs_struct& state) {
    if (static_cast<long>(state.orig_rax) == kMark && is_end) program.stop_here();
    return false;
  });
}

bool is_at_end(const user_regs_struct& state) { return state.rax == kMark && state.rdi == 0; }

void report(const Setup& setup, const Scenario& scenario, const char* what, std::uint64_t step,
            const std::vector<std::string>& problems, unsigned& total) {
  for (const std::string& problem : problems) {
    if (++total > 20) return;
    fmt::print("{} {}: {} at step {}: {}\n", scenario.name, setup.mode.name, what, step, problem);
    std::fflush(stdout);
  }
}

// All instructions of one run: the handler returns to each.
unsigned deliver_everywhere(const Setup& setup, const Scenario& scenario, int signal,
                            const Bound& bound) {
  Run run(setup, scenario);
  Tracee program(run, true);
  go_to_mark(program);
  const std::uint64_t most = bound.quick ? 2000 : 1'000'000;
  // Where a signal is blocked, it waits. Code that takes it, until none waits, must come to an end.
  constexpr std::uint64_t kPauseAfterBlocked = 97;
  std::uint64_t steps = 0, sent = 0, next = 1;
  unsigned total = 0;
  std::vector<std::string> problems;
  program.run_by_steps([&](Task& task) {
    if (++steps > most || is_at_end(program.registers(task))) return false;
    if (steps < next && task.signal != signal) return true;
    ++sent;
    const Tracee::Delivery delivery = program.run_handler(task, signal);
    const bool is_blocked = delivery == Tracee::Delivery::kBlocked;
    next = steps + std::max<std::uint64_t>(bound.stride, is_blocked ? kPauseAfterBlocked : 1);
    return delivery != Tracee::Delivery::kEnded;
  });
  if (steps > most && !bound.quick) problems.emplace_back("it did not come to its end");
  if (!program.finish(20)) problems.emplace_back("it hung");
  if (WIFSIGNALED(program.status()))
    problems.push_back(fmt::format("it died of {}", WTERMSIG(program.status())));
  const auto images = images_of(run);
  Findings findings = examine(images, truth_of(run, 0), true);
  problems.insert(problems.end(), findings.problems.begin(), findings.problems.end());
  if (images.empty()) problems.emplace_back("no profile");
  if (!findings.is_whole && !findings.is_told) {
    problems.push_back(fmt::format("{} calls are missing, and nothing says so", findings.missing));
  }
  const char* what = signal == SIGPROF ? "sample" : "signal";
  report(setup, scenario, what, steps, problems, total);
  fmt::print(
      "{}s everywhere: {} {}: {} sent in {} instructions, {} calls told as lost, {} problems\n",
      what, scenario.name, setup.mode.name, sent, steps, findings.missing, total);
  std::fflush(stdout);
  return total;
}

enum class Harm { kTerminate, kTruncate };

// The number of steps to the end.
std::uint64_t count_steps(const Setup& setup, const Scenario& scenario) {
  Run run(setup, scenario);
  Tracee program(run, true);
  go_to_mark(program);
  std::uint64_t steps = 0;
  program.run_by_steps(
      [&](Task& task) { return ++steps < 2'000'000 && !is_at_end(program.registers(task)); });
  return steps;
}

// One run for each of so many instructions, evenly spread: the signal or damage comes there, and
// the run then continues freely.
unsigned harm_at_each(const Setup& setup, const Scenario& scenario, Harm harm, const Bound& bound) {
  const std::uint64_t all = bound.quick ? 6000 : count_steps(setup, scenario);
  const std::uint64_t runs = std::min<std::uint64_t>(all, bound.quick ? 5 : bound.runs);
  unsigned total = 0;
  for (std::uint64_t i = 0; i < runs; ++i) {
    const std::uint64_t at = i * all / runs + i % 7;
    Run run(setup, scenario);
    Tracee program(run, true);
    go_to_mark(program);
    std::uint64_t steps = 0;
    program.run_by_steps([&](Task&) { return ++steps <= at; });
    if (program.has_ended()) continue;
    if (harm == Harm::kTerminate) {
      kill(program.pid(), SIGTERM);
    } else {
      for (const std::string& path : run.profiles()) (void)!truncate(path.c_str(), 0);
    }
    std::vector<std::string> problems;
    if (!program.finish(20)) problems.emplace_back("it hung");
    const int status = program.status();
    if (harm == Harm::kTerminate) {
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) {
        problems.push_back(fmt::format("it did not end by the signal: status {:#x}", status));
      }
      // If the parent has died, this proof kills the child that still runs.
      const Findings findings = examine(images_of(run), truth_of(run, 2), true);
      problems.insert(problems.end(), findings.problems.begin(), findings.problems.end());
    } else if (!WIFEXITED(status) || run.text_of("out").find("result") != 0) {
      problems.push_back(fmt::format("the program ended with status {:#x}", status));
    }
    report(setup, scenario, harm == Harm::kTerminate ? "SIGTERM" : "truncated", at, problems,
           total);
  }
  fmt::print("{}: {} {}: {} runs over {} instructions, {} problems\n",
             harm == Harm::kTerminate ? "ended" : "truncated", scenario.name, setup.mode.name, runs,
             all, total);
  std::fflush(stdout);
  return total;
}

}  // namespace

int prove_signals(const Setup& setup, const Bound& bound) {
  const std::vector<std::string> slow = {"FBLEPROF_RATE=1"};
  unsigned problems = 0;
  for (const char* name : {"calls", "thread", "fork", "load", "memory"}) {
    if (!bound.wants(name)) continue;
    const Scenario scenario{name, slow};
    if (bound.quick && scenario.name != "calls" && scenario.name != "fork") continue;
    problems += deliver_everywhere(setup, scenario, SIGPROF, bound);
    problems += deliver_everywhere(setup, scenario, SIGUSR1, bound);
    problems += harm_at_each(setup, scenario, Harm::kTerminate, bound);
    problems += harm_at_each(setup, scenario, Harm::kTruncate, bound);
  }
  // Calls that are known, so that the signals also come where hooks push entries by themselves.
  if (bound.wants("again")) {
    Bound all = bound;
    all.quick = false;
    problems += deliver_everywhere(setup, {"again", slow}, SIGUSR1, all);
  }
  return static_cast<int>(problems);
}

}  // namespace fbleprof::proof
