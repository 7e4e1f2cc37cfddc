// A signal at each instruction of the recorder's slow paths, and wherever it holds a resource: the
// sampling signal, one whose handler in the program calls hooked functions, one that ends the
// program, and the one that a truncated file raises.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <unordered_set>
#include <utility>

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

void report(const Setup& setup, const Scenario& scenario, const char* what, std::uint64_t at,
            const std::vector<std::string>& problems, unsigned& total) {
  for (const std::string& problem : problems) {
    if (++total > 20) return;
    fmt::print("{} {}: {} at {:#x}: {}\n", scenario.name, setup.mode.name, what, at, problem);
    std::fflush(stdout);
  }
}

// Whether a handler of the program's is there: not between exec and the mark of the next program.
class Ready {
 public:
  bool holds(const Tracee& program, const user_regs_struct& state) {
    if (state.rax == kMark && state.rdi == 1) programs_ = program.programs();
    return program.programs() <= programs_;
  }

 private:
  unsigned programs_ = 1;
};

// All instructions of one run: the handler returns to each.
unsigned deliver_everywhere(const Setup& setup, const Scenario& scenario, int signal,
                            const Bound& bound) {
  Run run(setup, scenario);
  Tracee program(run, true);
  go_to_mark(program);
  const std::uint64_t most = bound.quick ? 2000 : 3'000'000;
  // Where a signal is blocked, it waits. Code that takes it, until none waits, must come to an end.
  constexpr std::uint64_t kPauseAfterBlocked = 97;
  std::uint64_t steps = 0, sent = 0, next = 1;
  Ready ready;
  unsigned total = 0;
  std::vector<std::string> problems;
  program.run_by_steps([&](Task& task) {
    const user_regs_struct state = program.registers(task);
    if (++steps > most || is_at_end(state)) return false;
    if (!ready.holds(program, state)) return true;
    if (steps < next && task.signal != signal) return true;
    ++sent;
    const Tracee::Delivery delivery = program.run_handler(task, signal);
    const bool is_blocked = delivery == Tracee::Delivery::kBlocked;
    next = steps + std::max<std::uint64_t>(bound.stride, is_blocked ? kPauseAfterBlocked : 1);
    return delivery != Tracee::Delivery::kEnded;
  });
  if (steps > most && !bound.quick) problems.emplace_back("it did not come to its end");
  if (!program.finish(20)) problems.emplace_back("it hung");
  const End end{program.status(), run.text_of("out")}, plain = plain_end(setup, scenario);
  if (end != plain) problems.push_back(fmt::format("{} instead of {}", end.shown(), plain.shown()));
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

// An instruction of the recorder that a run executes: where, and in which program (exec).
struct Place {
  unsigned long address;
  unsigned program;
};

// Where a run begins to matter.
enum class From { kMark, kStart };

// Goes to the mark. A sample is due there, so that the handler is among what is executed: the
// timers hardly come to it.
void go_to_mark_with_sample(Tracee& program) {
  go_to_mark(program);
  syscall(SYS_tkill, program.pid(), SIGPROF);
}

void go_to_first_call(Tracee& program) {
  program.run_by_calls([&](Task& task, bool, user_regs_struct& state) {
    if (program.is_recorders(task.tid, state.rip)) program.stop_here();
    return false;
  });
}

// Lets the run go on until a breakpoint can be set at the place.
void go_before(Tracee& program, const Place& place, From from) {
  if (place.program == 1 && from == From::kMark) return go_to_mark_with_sample(program);
  program.run_by_calls([&](Task& task, bool is_end, user_regs_struct&) {
    if (is_end && program.programs() == place.program &&
        program.is_recorders(task.tid, place.address)) {
      program.stop_here();
    }
    return false;
  });
}

// The places of one run, each once, in their order.
std::vector<Place> places_of(const Setup& setup, const Scenario& scenario, From from,
                             const Bound& bound) {
  {
    // Repeats the run with the plans that the first run made.
    Run first(setup, scenario);
    Tracee(first, true).finish(20);
  }
  Run run(setup, scenario);
  Tracee program(run, true);
  from == From::kMark ? go_to_mark_with_sample(program) : go_to_first_call(program);
  const std::uint64_t most = bound.quick ? 6000 : 3'000'000;
  std::vector<Place> places;
  std::unordered_set<unsigned long> met;
  std::uint64_t steps = 0;
  // Steps take seconds of CPU time, in which the timer samples. In the runs that go freely to a
  // place it does not, so places that only such a sample comes to would not be met.
  bool is_sampled = from == From::kStart;
  program.run_by_steps([&](Task& task) {
    if (task.signal == SIGPROF && std::exchange(is_sampled, true)) task.signal = 0;
    const user_regs_struct state = program.registers(task);
    if (++steps > most || (from == From::kStart ? state.rax == kMark : is_at_end(state))) {
      return false;
    }
    if (!program.is_recorders(task.tid, state.rip)) return true;
    if (met.insert(state.rip).second) places.push_back({state.rip, program.programs()});
    return true;
  });
  return places;
}

// What comes to the program: a signal, or the loss of its files (0).
struct Harm {
  int signal;
  std::string name() const {
    return signal == 0 ? "files truncated" : fmt::format("SIG{}", sigabbrev_np(signal));
  }
};

// A file may be renamed after it was truncated.
ino_t inode_of(const std::string& path) {
  struct stat status {};
  stat(path.c_str(), &status);
  return status.st_ino;
}

class Harmed {
 public:
  Harmed(const Setup& setup, const Scenario& scenario, From from)
      : setup_(setup), scenario_(scenario), from_(from), plain_(plain_end(setup, scenario)) {}

  // A run that goes freely to the place, where the harm comes to the task that is there, and freely
  // on. The problems.
  std::vector<std::string> harm_at(const Place& place, const Harm& harm, bool& is_reached) const {
    constexpr unsigned kMostSeconds = 20;
    Run run(setup_, scenario_);
    Tracee program(run, true);
    go_before(program, place, from_);
    const Task* there = program.run_to(place.address, kMostSeconds);
    is_reached = there != nullptr;
    if (!is_reached && !program.has_ended()) return {"it hung on its way"};
    std::set<ino_t> lost;
    bool is_first_process = false;
    if (is_reached && harm.signal != 0) {
      const pid_t process = Tracee::process_of(there->tid);
      is_first_process = process == program.pid();
      syscall(SYS_tgkill, process, there->tid, harm.signal);
    } else if (is_reached) {
      for (const std::string& path : run.profiles()) {
        lost.insert(inode_of(path));
        (void)!truncate(path.c_str(), 0);
      }
    }
    if (!program.finish(kMostSeconds)) return {"it hung"};
    const End end{program.status(), run.text_of("out")};
    std::vector<std::string> problems;
    if (!is_expected(end, is_reached ? harm.signal : 0, is_first_process)) {
      problems.push_back(fmt::format("{} instead of {}", end.shown(), plain_.shown()));
    }
    add_findings(run, lost, problems);
    return problems;
  }

 private:
  bool is_expected(const End& end, int signal, bool is_first_process) const {
    if (end == plain_) return signal == 0 || !is_first_process || WIFSIGNALED(plain_.status);
    if (signal == 0) return false;
    if (is_first_process) return WIFSIGNALED(end.status) && WTERMSIG(end.status) == signal;
    // A child that was ended has no status of its own.
    return end.status == 0 && end.out == "result 0\n";
  }

  void add_findings(const Run& run, const std::set<ino_t>& lost,
                    std::vector<std::string>& problems) const {
    auto images = images_of(run);
    if (images.empty() && from_ == From::kMark) problems.emplace_back("no profile");
    std::erase_if(images, [&](const Image& image) {
      return lost.contains(inode_of(run.path_of(image.name)));
    });
    Truth truth = truth_of(run, 2);
    if (!lost.empty()) truth.least = {};
    const Findings findings = examine(images, truth, true);
    problems.insert(problems.end(), findings.problems.begin(), findings.problems.end());
    if (findings.missing > 0 && !findings.is_told) {
      problems.push_back(
          fmt::format("{} calls are missing, and nothing says so", findings.missing));
    }
  }

  const Setup& setup_;
  const Scenario& scenario_;
  const From from_;
  const End plain_;
};

// At each instruction of the recorder that the scenario executes: a harm. Instructions that an
// earlier scenario had are not all repeated.
unsigned harm_everywhere(const Setup& setup, const Scenario& scenario, From from,
                         std::unordered_set<unsigned long>& known, const Bound& bound) {
  constexpr std::size_t kEachKnown = 20, kEachOther = 10, kQuickRuns = 12, kEnoughRuns = 20;
  const std::vector<Place> places = places_of(setup, scenario, from, bound);
  std::vector<Place> chosen;
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_new = known.insert(places[i].address).second;
    fresh += is_new;
    if (is_new ? fresh % bound.stride == 0 : i % (kEachKnown * bound.stride) == 0) {
      chosen.push_back(places[i]);
    }
  }
  const Harmed harmed(setup, scenario, from);
  unsigned all_problems = 0, all_runs = 0, all_reached = 0;
  const auto judge_reached = [&](unsigned reached, unsigned runs) {
    if (reached * 10 >= runs * 9) return;
    fmt::print("too few came there ({} of {}): it proves nothing\n", reached, runs);
    ++all_problems;
  };
  const struct {
    Harm harm;
    std::size_t each;
  } kinds[] = {{{SIGTERM}, 1}, {{0}, 1}, {{SIGSEGV}, kEachOther}, {{SIGABRT}, kEachOther}};
  for (const auto& [harm, each] : kinds) {
    const std::size_t step =
        bound.quick ? std::max<std::size_t>(1, chosen.size() / kQuickRuns * (each == 1 ? 1 : 6))
                    : each;
    unsigned runs = 0, reached = 0, problems = 0;
    for (std::size_t i = step / 2; i < chosen.size(); i += step) {
      bool is_reached = false;
      const auto found = harmed.harm_at(chosen[i], harm, is_reached);
      ++runs;
      reached += is_reached;
      report(setup, scenario, harm.name().c_str(), chosen[i].address, found, problems);
    }
    fmt::print(
        "{} at each instruction: {} {}{}: {} executed, {} of them new, {} runs, {} came there, {} "
        "problems\n",
        harm.name(), scenario.name, setup.mode.name, from == From::kStart ? " from its start" : "",
        places.size(), fresh, runs, reached, problems);
    // With a stride, a kind may have one run. Then only all the kinds together tell.
    if (runs >= kEnoughRuns) judge_reached(reached, runs);
    all_runs += runs;
    all_reached += reached;
    std::fflush(stdout);
    all_problems += problems;
  }
  judge_reached(all_reached, all_runs);
  return all_problems;
}

}  // namespace

int prove_signals(const Setup& setup, const Bound& bound) {
  const std::vector<std::string> slow = {"FBLEPROF_RATE=1"};
  // `stride`: the scenario is long, so handlers run at every so many-th instruction.
  struct Part {
    Scenario scenario;
    unsigned stride = 1;
  };
  const Part parts[] = {{{"calls", slow}}, {{"thread", slow}},   {{"fork", slow}},
                        {{"load", slow}},  {{"memory", slow}},   {{"exec", slow}, 16},
                        {{"fatal", slow}}, {{"grow", slow}, 64}, {{"again", slow}}};
  std::unordered_set<unsigned long> known;
  unsigned problems = 0;
  for (const auto& [scenario, stride] : parts) {
    const std::string& name = scenario.name;
    if (!bound.wants(name) || (bound.quick && name != "calls" && name != "fork")) continue;
    Bound part = bound;
    part.stride *= stride;
    problems += deliver_everywhere(setup, scenario, SIGPROF, part);
    problems += deliver_everywhere(setup, scenario, SIGUSR1, part);
    problems += harm_everywhere(setup, scenario, From::kMark, known, bound);
    if (name == "calls" && !bound.quick) {
      problems += harm_everywhere(setup, scenario, From::kStart, known, bound);
    }
  }
  // Calls that are known, so that the signals also come where hooks push entries by themselves.
  if (bound.quick && bound.wants("again")) {
    Bound all = bound;
    all.quick = false;
    problems += deliver_everywhere(setup, {"again", slow}, SIGUSR1, all);
  }
  return static_cast<int>(problems);
}

}  // namespace fbleprof::proof
