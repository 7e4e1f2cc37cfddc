#include "launch/attach_command.h"

#include <sys/types.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "attach/attach.h"
#include "control/running_profile.h"
#include "launch/library.h"
#include "launch/options.h"
#include "launch/say.h"

namespace fbleprof::launch {

using control::Answer;
using control::RunningProfile;

namespace {

constexpr int kRefused = 1, kWrongUse = 2;

constexpr char kHelp[] =
    "fble-prof attach [options] PID\n"
    "fble-prof detach PID\n"
    "\n"
    "attach loads the recorder into a running program and begins to record; detach, or the\n"
    "end of --duration, turns its timers off again. The recorder stays in the program's\n"
    "memory, idle; attach turns it on again, and the report counts from there.\n"
    "\n"
    "Options: --out (default: mlmon.out here; in a container /tmp/mlmon.out.PID there),\n"
    "--rate, --clock, --compact, --memory, --depth, --callsites, --leaves, --faults,\n"
    "--duration, as for fble-prof itself. Calls are not counted: the program's functions have no\n"
    "hooks that reach the recorder.\n"
    "\n"
    "One thread is stopped for some milliseconds, and no sleeping call returns early. This\n"
    "needs the right to trace the process: the same user or root, and\n"
    "kernel.yama.ptrace_scope=0 or root.\n"
    "\n"
    "Exit status: 0 done, 1 the process refused, 2 wrong usage.\n";

int give_up(int status, const std::string& line) {
  say("attach: " + line);
  return status;
}

bool asks_for_help(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == "--help" || words[0] == "-h");
}

// If the tracer ended in the middle of this, the process would be lost.
void hold_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGTSTP}) {
    sigaddset(&ending, signal);
  }
  sigprocmask(SIG_BLOCK, &ending, nullptr);
}

std::optional<pid_t> read_pid(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value <= 0 || value > 1 << 22) return std::nullopt;
  return static_cast<pid_t>(value);
}

// Options that a running program cannot have.
std::string fault_of(const Request& request) {
  if (request.names || request.twice || request.windows.every.count() != 0) {
    return "--names, --runs and --window are for programs that fble-prof starts";
  }
  for (const auto& [variable, value] : request.environment) {
    if (variable == "FBLEPROF_EXACT" || variable == "FBLEPROF_ALLOCS" ||
        variable == "FBLEPROF_FILTER") {
      return "--exact, --memory-profile, --only and --not are for programs that fble-prof starts";
    }
    if (variable == "FBLEPROF_CLOCK" && value == "ticks") {
      return "--clock=ticks is for programs that fble-prof starts";
    }
  }
  return {};
}

// The settings for the recorder, with the file's name as the process sees it.
std::vector<std::string> settings_of(const Request& request, pid_t pid) {
  std::vector<std::string> settings;
  std::string out;
  for (const auto& [variable, value] : request.environment) {
    if (variable == "FBLEPROF_OUT") {
      out = value;
    } else {
      settings.push_back(variable + "=" + value);
    }
  }
  if (out.empty() && attach::has_own_files(pid)) {
    out = "/tmp/mlmon.out." + std::to_string(pid);
  } else if (out.empty()) {
    out = "mlmon.out";
  }
  settings.push_back("FBLEPROF_OUT=" + std::filesystem::absolute(out).string());
  return settings;
}

// When the recording ends, for people: this program does not wait for that.
std::string end_of(const Request& request) {
  for (const auto& [variable, value] : request.environment) {
    if (variable == "FBLEPROF_DURATION") {
      return " for " + value + ", then recording stops by itself";
    }
  }
  return {};
}

std::string from_outside(pid_t pid, const std::string& profile) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (!profile.starts_with('/')) return process + "/cwd/" + profile;
  return attach::has_own_files(pid) ? process + "/root" + profile : profile;
}

// Makes the recorder in the process start or stop.
int turn(pid_t pid, const std::string& profile, bool on) {
  constexpr std::chrono::milliseconds kPatience(30);
  auto opened = RunningProfile::open(from_outside(pid, profile));
  if (!opened) return give_up(kRefused, opened.error().line());
  if (on) {
    if (const Status bad = opened->reset()) return give_up(kRefused, bad->line());
  }
  auto answer = opened->set_recording(on, kPatience);
  if (answer && *answer != Answer::kDone && *answer != Answer::kAlready) {
    if (const Status bad = attach::make_recorder_obey(pid, find_library())) {
      return give_up(kRefused, bad->line());
    }
    answer = opened->set_recording(on, kPatience);
  }
  if (!answer) return give_up(kRefused, answer.error().line());
  return 0;
}

}  // namespace

int attach(const std::vector<std::string>& words) {
  if (asks_for_help(words)) return std::fputs(kHelp, stdout) < 0 ? kWrongUse : 0;
  const Request request = read_request(words);
  const auto pid = request.command.size() == 1 ? read_pid(request.command[0]) : std::nullopt;
  if (!request.error.empty() && !request.command.empty()) return give_up(kWrongUse, request.error);
  if (!pid) return give_up(kWrongUse, "expected [options] PID (fble-prof attach --help)");
  if (const std::string fault = fault_of(request); !fault.empty()) return give_up(kWrongUse, fault);
  hold_signals();
  const std::string library = find_library();
  if (library.empty()) {
    return give_up(kWrongUse, "libfbleprof.so was not found: install it with fble-prof");
  }
  const auto recorder = attach::find_recorder(*pid, library);
  if (!recorder) return give_up(kRefused, recorder.error().line());
  if (recorder->is_loaded) {
    if (recorder->profile.empty()) {
      return give_up(kRefused, "process " + std::to_string(*pid) +
                                   ": it has a recorder that writes no file; restart the program");
    }
    say("process " + std::to_string(*pid) + " goes on in " + recorder->profile +
        (request.environment.empty() ? "" : ": it keeps the options of its first attach"));
    return turn(*pid, recorder->profile, true);
  }
  const std::vector<std::string> settings = settings_of(request, *pid);
  if (const Status bad = attach::load_recorder(*pid, library, settings)) {
    return give_up(kRefused, bad->line());
  }
  const auto attached = attach::find_recorder(*pid, library);
  say("process " + std::to_string(*pid) + " is recorded in " +
      (attached ? from_outside(*pid, attached->profile) : "?") + end_of(request));
  return 0;
}

int detach(const std::vector<std::string>& words) {
  if (asks_for_help(words)) return std::fputs(kHelp, stdout) < 0 ? kWrongUse : 0;
  const auto pid = words.size() == 1 ? read_pid(words[0]) : std::nullopt;
  if (!pid) return give_up(kWrongUse, "expected PID (fble-prof detach PID)");
  hold_signals();
  const auto recorder = attach::find_recorder(*pid, find_library());
  if (!recorder) return give_up(kRefused, recorder.error().line());
  if (!recorder->is_loaded || recorder->profile.empty()) {
    return give_up(kRefused, "process " + std::to_string(*pid) + ": it is not recorded");
  }
  return turn(*pid, recorder->profile, false);
}

}  // namespace fbleprof::launch
