#include "launch/attached_exact.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <thread>

#include "attach/borrowed_thread.h"
#include "attach/exact.h"
#include "attach/refusal.h"
#include "launch/exact.h"
#include "launch/say.h"

namespace fbleprof::launch {

namespace {

std::string stopped_for(const attach::ExactChange& change) {
  const auto tenths = (change.stopped.count() + 50) / 100;
  return "all threads were stopped for " + std::to_string(tenths / 10) + "." +
         std::to_string(tenths % 10) + " ms";
}

std::string name_of(pid_t pid) { return "process " + std::to_string(pid); }

attach::ExactChoice choice_of(const std::string& modules) {
  return {modules, plan_folder(), own_path(), plan_of};
}

}  // namespace

sigset_t ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGTSTP}) {
    sigaddset(&ending, signal);
  }
  return ending;
}

int check_counting(const std::string& modules) {
  const attach::ExactChoice choice = choice_of(modules);
  if (choice.plan_folder.empty()) {
    return give_up(
        kWrongUse,
        "--exact: no folder for plans; set XDG_CACHE_HOME to a writable folder with 16 MB left");
  }
  const std::string fault = attach::fault_of(choice);
  return fault.empty() ? 0 : give_up(kWrongUse, fault);
}

int prepare_counting(pid_t pid, const std::string& library, const std::string& modules) {
  const Status bad = attach::prepare_to_count_calls(pid, library, choice_of(modules));
  return bad ? give_up(kRefused, bad->line()) : 0;
}

int start_counting(pid_t pid, const std::string& library) {
  const auto change = attach::count_calls(pid, library);
  if (!change) return give_up(kRefused, change.error().line());
  std::string line = name_of(pid) + ": its calls are counted; " + stopped_for(*change);
  if (change->kept_out != 0) {
    line += "; " + std::to_string(change->kept_out) +
            " functions are not counted, because a thread was in their first instructions";
  }
  say(line);
  return 0;
}

int stop_counting(pid_t pid, const std::string& library) {
  const auto change = attach::stop_counting_calls(pid, library);
  if (!change) return give_up(kRefused, change.error().line());
  if (change->places != 0) say(name_of(pid) + " has its own code again; " + stopped_for(*change));
  return 0;
}

Waited wait_for_end(pid_t pid, std::chrono::milliseconds time) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kStep(50);
  const sigset_t ending = ending_signals();
  const timespec step{0, std::chrono::nanoseconds(kStep).count()};
  const auto end = Clock::now() + time;
  while (!attach::has_ended(pid)) {
    if (Clock::now() >= end) return Waited::kToTheEnd;
    if (sigtimedwait(&ending, nullptr, &step) > 0) return Waited::kUntilSignal;
  }
  return Waited::kUntilProcessEnded;
}

}  // namespace fbleprof::launch
