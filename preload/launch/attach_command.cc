#include "launch/attach_command.h"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "attach/attach.h"
#include "attach/borrowed_thread.h"
#include "attach/exact.h"
#include "attach/filter.h"
#include "attach/loaded_file.h"
#include "attach/python.h"
#include "attach/seccomp_check.h"
#include "control/process.h"
#include "control/running_profile.h"
#include "launch/attached_exact.h"
#include "launch/filter.h"
#include "launch/library.h"
#include "launch/options.h"
#include "launch/say.h"
#include "launch/time_text.h"

namespace fbleprof::launch {

using attach::Filtered;
using attach::Recorder;
using control::Answer;
using control::RunningProfile;

namespace {

constexpr char kDespiteSeccomp[] = "--despite-seccomp";

constexpr char kHelp[] =
    "fble-prof attach [options] PID\n"
    "fble-prof detach [--despite-seccomp] PID\n"
    "\n"
    "attach loads the recorder into a running program and begins to record; detach, or the\n"
    "end of --duration, turns its timers off again. The recorder stays in the program's\n"
    "memory, idle; attach turns it on again, and the report counts from there.\n"
    "\n"
    "Options: --out (default: mlmon.out here; in a container /tmp/mlmon.out.PID there),\n"
    "--rate, --clock, --compact, --memory, --depth, --callsites, --leaves, --faults,\n"
    "--only, --not, --start-off, --duration, --native, --no-python, as for fble-prof itself.\n"
    "The program is sampled; of Python, the functions of scripts are shown.\n"
    "With --delay, attach first waits for that time.\n"
    "\n"
    "--exact[=MODULES] also counts each call from then on, as for fble-prof itself. All threads\n"
    "are stopped for some milliseconds, while the starts of functions are changed, and again at\n"
    "detach. With --duration, attach waits for the end; if it is interrupted, it ends earlier.\n"
    "With --throttle, functions that are called too often are not counted any more. While\n"
    "recording is off (--start-off, fble-prof ctl), functions call no hook. Processes that it\n"
    "forks have profiles of their own; --children none or --children PATTERNS leaves them out.\n"
    "\n"
    "Otherwise one thread is stopped for some milliseconds, and all of them for the moment in\n"
    "which some functions of libc are changed. No sleeping call returns early. This needs the\n"
    "right to trace the process: the same user or root, and kernel.yama.ptrace_scope=0 or root.\n"
    "\n"
    "A program that has confined itself (seccomp) is refused if its filters may end it at a call\n"
    "of the recorder's, or cannot be seen: that takes root, outside of containers.\n"
    "--despite-seccomp attaches to it, or detaches, all the same: the filters may end it.\n"
    "\n"
    "Exit status: 0 done, 1 the process refused, 2 wrong usage.\n";

// Takes the option out of the words.
Filtered take_filtered(std::vector<std::string>& words) {
  return std::erase(words, kDespiteSeccomp) == 0 ? Filtered::kChecked : Filtered::kAccepted;
}

// If the tracer ended in the middle of this, the process would be lost.
void hold_signals() {
  const sigset_t ending = ending_signals();
  sigprocmask(SIG_BLOCK, &ending, nullptr);
}

std::optional<pid_t> read_pid(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value <= 0) return std::nullopt;
  // No process has a larger one: a search says so.
  return static_cast<pid_t>(std::min<long>(value, std::numeric_limits<pid_t>::max()));
}

std::string value_of(const Request& request, const std::string& wanted) {
  for (const auto& [variable, value] : request.environment) {
    if (variable == wanted) return value;
  }
  return {};
}

bool is_exact(const Request& request) {
  return !is_off(value_of(request, "FBLEPROF_EXACT").c_str());
}

bool starts_off(const Request& request) { return value_of(request, "FBLEPROF_START") == "off"; }

std::string filter_of(const Request& request) { return value_of(request, "FBLEPROF_FILTER"); }

// 0: the process survives it, as far as its filters of system calls tell.
int check_confinement(const Request& request, pid_t pid, Filtered filtered) {
  const bool has_tables = is_exact(request) || !filter_of(request).empty();
  const auto recording = has_tables ? attach::Recording::kWithTables : attach::Recording::kSamples;
  const Status bad = attach::check_seccomp(pid, recording, filtered);
  return bad ? give_up(kRefused, bad->line()) : 0;
}

// Options that a running program cannot have.
std::string fault_of(const Request& request) {
  if (request.names || request.twice || request.windows.every.count() != 0) {
    return "--names, --runs and --window are for programs that fble-prof starts";
  }
  for (const auto& [variable, value] : request.environment) {
    if (variable == "FBLEPROF_DURATION" && read_time(value) == std::chrono::milliseconds(0)) {
      return "--duration: expected a time above 0";
    }
    if (variable == "FBLEPROF_ALLOCS" || (variable == "FBLEPROF_WAITS" && value == "1")) {
      return "--memory-profile and --waits are for programs that fble-prof starts";
    }
    if (variable == "FBLEPROF_THROTTLE" && !is_exact(request)) return "--throttle needs --exact";
    if (variable == "FBLEPROF_CLOCK" && value == "ticks") {
      return "--clock=ticks is for programs that fble-prof starts";
    }
  }
  return {};
}

// The recorder cannot give the code its original bytes at the end of --duration. With --start-off,
// only it knows when that is; the functions then call no hook.
bool is_ended_by_us(const Request& request) { return is_exact(request) && !starts_off(request); }

// The profile's name, as the process or this one sees it.
std::string out_of(const Request& request, pid_t pid) {
  const std::string out = value_of(request, "FBLEPROF_OUT");
  if (!out.empty()) return out;
  return attach::has_own_files(pid) ? "/tmp/mlmon.out." + std::to_string(pid) : "mlmon.out";
}

// The directory's name is no template.
std::string in_current_directory(const std::string& out) {
  if (std::filesystem::path(out).is_absolute()) return out;
  std::error_code failure;
  std::string path;
  for (const char c : std::filesystem::current_path(failure).string())
    path += c == '%' ? "%%" : std::string(1, c);
  return path + "/" + out;
}

// Why in_current_directory() cannot say where the profile is to be; empty if it can.
std::string fault_of_directory(const Request& request, pid_t pid) {
  if (std::filesystem::path(out_of(request, pid)).is_absolute()) return {};
  std::error_code failure;
  (void)std::filesystem::current_path(failure);
  return failure ? "current directory: " + failure.message() + "; name the profile by --out /..."
                 : std::string();
}

// The settings for the recorder, with the file's name as the process sees it.
std::vector<std::string> settings_of(const Request& request, pid_t pid) {
  std::vector<std::string> settings;
  for (const auto& [variable, value] : request.environment) {
    if (variable != "FBLEPROF_OUT" && variable != "FBLEPROF_EXACT" &&
        variable != "FBLEPROF_DELAY" &&
        !(variable == "FBLEPROF_DURATION" && is_ended_by_us(request))) {
      settings.push_back(variable + "=" + value);
    }
  }
  // Until the recorder knows what is left out, and libc's calls lead to it, it must not record.
  if (!starts_off(request)) settings.push_back("FBLEPROF_START=off");
  settings.push_back("FBLEPROF_OUT=" + in_current_directory(out_of(request, pid)));
  return settings;
}

// The recorder makes tables for libraries that are loaded later, if the process can do that.
void add_filter_files(Request& request, pid_t pid, const FilterFiles& files) {
  if (!attach::sees_file(pid, files.tool) || !attach::sees_file(pid, files.tables)) return;
  request.environment.emplace_back("FBLEPROF_FILTER_TOOL", files.tool);
  request.environment.emplace_back("FBLEPROF_FILTER_TABLES", files.tables);
}

// When the recording ends, for people.
std::string end_of(const Request& request) {
  const auto duration = read_time(value_of(request, "FBLEPROF_DURATION"));
  if (!duration) return {};
  return " for " + time_text(*duration) +
         (is_ended_by_us(request) ? "" : ", then recording stops by itself");
}

std::string from_outside(pid_t pid, const std::string& profile) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (!profile.starts_with('/')) return process + "/cwd/" + profile;
  return attach::has_own_files(pid) ? process + "/root" + profile : profile;
}

// What find_recorder finds. A process that a recorded one forked has a copy of its recorder, which
// names the profile of the other, or of one that has taken the name since.
Result<Recorder> find_own_recorder(pid_t pid, const std::string& library) {
  auto recorder = attach::find_recorder(pid, library);
  if (!recorder || recorder->profile.empty()) return recorder;
  const std::string path = from_outside(pid, recorder->profile);
  const auto header = RunningProfile::any_header_of(path);
  if (!header || control::is_writer(pid, *header)) return recorder;
  const pid_t writer = control::process_of(*header);
  return Error{"process " + std::to_string(pid), std::nullopt,
               "its recorder's file, " + path + ", is that of " +
                   (writer == 0 ? "another process" : "process " + std::to_string(writer)),
               "a process that a recorded one forked cannot be recorded itself"};
}

enum class Count { kAnew, kOn };

Status try_to_turn(pid_t pid, const std::string& profile, bool on, Count count) {
  constexpr std::chrono::milliseconds kPatience(30);
  auto opened = RunningProfile::open(from_outside(pid, profile));
  if (!opened) return opened.error();
  if (count == Count::kAnew) {
    if (const Status bad = opened->reset()) return bad;
  }
  auto answer = opened->set_recording(on, kPatience);
  if (answer && *answer != Answer::kDone && *answer != Answer::kAlready) {
    if (const Status bad = attach::make_recorder_obey(pid, find_library())) return bad;
    answer = opened->set_recording(on, kPatience);
  }
  if (!answer) return answer.error();
  return std::nullopt;
}

// Tries until it is done. A profile has its end while its program calls exec, and goes on if exec
// fails. That takes as long as a busy disk needs for the file.
Status insist(pid_t pid, const std::string& profile, const std::function<Status()>& attempt) {
  constexpr int kTries = 50;  // of a profile that had no end meanwhile
  constexpr std::chrono::milliseconds kBetween(10);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto header = [&] { return RunningProfile::any_header_of(from_outside(pid, profile)); };
  auto before = header();
  Status bad = attempt();
  for (int tries = 1; bad && tries < kTries && !attach::has_ended(pid);) {
    if (std::chrono::steady_clock::now() > deadline) break;
    const auto after = header();
    const bool had_end = after && (after->state != format::State::kLive ||
                                   (before && before->end_monotonic_ns != after->end_monotonic_ns));
    if (!had_end) ++tries;
    std::this_thread::sleep_for(kBetween);
    before = header();
    bad = attempt();
  }
  return bad;
}

// Makes the recorder in the process start or stop.
Status turn(pid_t pid, const std::string& profile, bool on, Count count = Count::kAnew) {
  return insist(pid, profile, [&] { return try_to_turn(pid, profile, on, count); });
}

// Before the recorder is called, which writes to the file: nobody may have truncated it.
Status wait_for_whole_file(pid_t pid, const std::string& profile) {
  return insist(pid, profile, [&]() -> Status {
    const auto header = RunningProfile::header_of(from_outside(pid, profile));
    if (!header) return header.error();
    return std::nullopt;
  });
}

Result<Recorder> load(const Request& request, pid_t pid, const std::string& library) {
  if (const Status bad = attach::load_recorder(pid, library, settings_of(request, pid))) {
    return *bad;
  }
  auto recorder = attach::find_recorder(pid, library);
  if (recorder && !recorder->profile.empty()) {
    say("process " + std::to_string(pid) + " is recorded in " +
        from_outside(pid, recorder->profile) + end_of(request));
  }
  return recorder;
}

// Makes the recorder leave out what --only and --not name, before it records.
int leave_functions_out(const Request& request, pid_t pid, const std::string& library) {
  const std::string filter = filter_of(request);
  const Status bad = attach::leave_functions_out(
      pid, library, filter,
      [&filter](const std::vector<std::string>& modules) { return tables_of(filter, modules); });
  return bad ? give_up(kRefused, bad->line()) : 0;
}

std::string option_of(const std::string& variable) {
  std::string option = variable.substr(std::string_view("FBLEPROF_").size());
  for (char& letter : option) {
    letter = letter == '_' ? '-' : static_cast<char>(letter | ('a' - 'A'));
  }
  return "--" + option;
}

// The options whose values the recorder has had since it was loaded.
std::string kept_options(const Request& request, pid_t pid, const std::string& profile) {
  std::string kept;
  for (const std::string& setting : settings_of(request, pid)) {
    const std::size_t equals = setting.find('=');
    const std::string variable = setting.substr(0, equals), value = setting.substr(equals + 1);
    const bool is_set_again =
        variable == "FBLEPROF_START" || variable.starts_with("FBLEPROF_FILTER");
    const bool is_same_file = variable == "FBLEPROF_OUT" && (value_of(request, variable).empty() ||
                                                             from_outside(pid, value) == profile);
    if (is_set_again || is_same_file) continue;
    kept += (kept.empty() ? "" : ", ") + option_of(variable);
  }
  return kept;
}

Status go_on(const Request& request, pid_t pid, const std::string& profile) {
  const std::string kept = kept_options(request, pid, from_outside(pid, profile));
  if (const Status bad = turn(pid, profile, !starts_off(request))) return bad;
  say("process " + std::to_string(pid) + " goes on in " + from_outside(pid, profile) +
      (kept.empty() ? "" : ", with the " + kept + " of its first attach"));
  return std::nullopt;
}

// Where each call is counted, the interpreter's functions are in the tree instead.
void show_scripts(const Request& request, pid_t pid, const std::string& library) {
  if (value_of(request, "FBLEPROF_PYTHON") == "off" || is_exact(request)) return;
  const std::string adapter = find_beside(library, "libfbleprof_python.so");
  if (adapter.empty()) return;
  if (const Status bad = attach::show_scripts(pid, adapter)) {
    say(bad->line() + ": its scripts are not shown");
  }
}

// Threads that block the signal of samples have none, and nothing else would say so while they run.
void say_who_is_blocked(pid_t pid) {
  constexpr std::uint64_t kOfSample = 1ull << (SIGPROF - 1);
  const std::vector<pid_t> threads = control::threads_of(pid);
  const auto blocked = std::count_if(threads.begin(), threads.end(), [](pid_t tid) {
    const std::string mask = control::status_field(tid, "SigBlk");
    return (std::strtoull(mask.c_str(), nullptr, 16) & kOfSample) != 0;
  });
  if (blocked == 0) return;
  say("process " + std::to_string(pid) + ": " + std::to_string(blocked) + " of its " +
      std::to_string(threads.size()) + " threads block SIGPROF now, and are not sampled meanwhile");
}

// Whether the process ends. Its memory is the first to go, which takes a while if it is large.
bool ends_now(pid_t pid) {
  constexpr int kLooks = 20;
  constexpr std::chrono::milliseconds kBetween(10);
  for (int i = 0; i < kLooks; ++i) {
    if (attach::has_ended(pid)) return true;
    std::this_thread::sleep_for(kBetween);
  }
  return false;
}

// As control::image_of; waits for the end of an exec.
std::string image_after_exec(pid_t pid) {
  constexpr int kLooks = 200;
  constexpr std::chrono::milliseconds kBetween(1);
  std::string image = control::image_of(pid);
  for (int i = 0; i < kLooks && image.empty() && !attach::has_ended(pid); ++i) {
    std::this_thread::sleep_for(kBetween);
    image = control::image_of(pid);
  }
  return image;
}

int start(const Request& request, pid_t pid, const std::string& library, Filtered filtered) {
  if (const std::string fault = fault_of_directory(request, pid); !fault.empty()) {
    return give_up(kWrongUse, fault);
  }
  if (const int status = check_confinement(request, pid, filtered)) return status;
  const std::string name = "process " + std::to_string(pid);
  const std::string image = image_after_exec(pid);
  // What fails because of that says something else.
  const auto is_another_program = [&] {
    // Empty in the middle of an exec, and at the end.
    const std::string now = control::image_of(pid);
    return now != image && !attach::has_ended(pid);
  };
  const auto refuse = [&](const std::string& line) {
    return give_up(kRefused, is_another_program()
                                 ? name + ": it became another program meanwhile: try again"
                                 : line);
  };
  const bool was_there = !attach::has_ended(pid);
  auto recorder = find_own_recorder(pid, library);
  // An earlier attach may have failed after it loaded the recorder.
  const bool was_loaded = recorder && recorder->is_loaded && !recorder->profile.empty();
  if (recorder && !was_loaded) recorder = load(request, pid, library);
  if (was_there && (!recorder || recorder->profile.empty()) && ends_now(pid)) {
    return give_up(kRefused, name + ": it has ended");
  }
  if (!recorder) return refuse(recorder.error().line());
  if (recorder->profile.empty()) {
    return refuse(name + ": it has a recorder that writes no file; restart the program");
  }
  if (was_loaded) {
    if (const Status bad = wait_for_whole_file(pid, recorder->profile)) return refuse(bad->line());
  }
  int status = 0;
  const bool is_filtered = !filter_of(request).empty();
  if (is_filtered) status = leave_functions_out(request, pid, library);
  if (status == 0 && is_exact(request)) {
    status = prepare_counting(pid, library, value_of(request, "FBLEPROF_EXACT"));
  }
  if (status != 0) return status;
  show_scripts(request, pid, library);
  // Without that, the process is recorded all the same.
  Status bad = is_exact(request) ? std::nullopt : attach::watch_program(pid, library);
  if (bad && is_another_program()) return refuse(bad->line());
  if (bad && !attach::has_ended(pid)) {
    say("detach before the program calls exec or sigaction: " + bad->line());
  }
  say_who_is_blocked(pid);
  bad = std::nullopt;
  // The preparation may have taken its time: what is recorded counts from here.
  if (was_loaded) {
    bad = go_on(request, pid, recorder->profile);
  } else if (!starts_off(request)) {
    bad = turn(pid, recorder->profile, true);
  }
  if (bad) return refuse(bad->line());
  return is_exact(request) ? start_counting(pid, library) : 0;
}

// Stops recording, and gives the program its own action and code back. If that fails, the program
// is recorded as before.
int stop(pid_t pid, const std::string& library, Filtered filtered) {
  const auto recorder = find_own_recorder(pid, library);
  if (!recorder) return give_up(kRefused, recorder.error().line());
  if (!recorder->is_loaded || recorder->profile.empty()) {
    return give_up(kRefused, "process " + std::to_string(pid) + ": it is not recorded");
  }
  if (Status bad = attach::check_seccomp(pid, attach::Recording::kSamples, filtered)) {
    bad->remedy = "it stays attached";
    return give_up(kRefused, bad->line());
  }
  if (const Status bad = turn(pid, recorder->profile, false, Count::kOn)) {
    return give_up(kRefused, bad->line());
  }
  int status = 0;
  const auto give_back = [&] {
    // If this fails, our handler stays, and passes on what is the program's.
    (void)attach::unwatch_signals(pid, library);
    status = stop_counting(pid, library);
  };
  if (auto profile = RunningProfile::open(from_outside(pid, recorder->profile))) {
    profile->without_signals(give_back);
  } else {
    give_back();
  }
  if (status != 0) {
    if (const Status bad = turn(pid, recorder->profile, true, Count::kOn)) say(bad->line());
  }
  return status;
}

}  // namespace

int attach(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  const Filtered filtered = take_filtered(words);
  Request request = read_request(words);
  if (request.action != Action::kRun) {
    return print(request.action == Action::kHelp ? kHelp : version());
  }
  std::optional<pid_t> pid;
  if (request.command.size() == 1) pid = read_pid(request.command[0]);
  // That two runs lack --exact is no matter where there is one run only.
  if (request.twice && pid) return give_up(kWrongUse, fault_of(request));
  if (!request.error.empty() && !request.command.empty()) return give_up(kWrongUse, request.error);
  if (!pid) return give_up(kWrongUse, "expected [options] PID (fble-prof attach --help)");
  if (const std::string fault = fault_of(request); !fault.empty()) return give_up(kWrongUse, fault);
  if (!filter_of(request).empty()) {
    const auto files = prepare_filter(filter_of(request));
    if (!files) return give_up(kWrongUse, files.error().line());
    add_filter_files(request, *pid, *files);
  }
  if (is_exact(request)) {
    if (const int status = check_counting(value_of(request, "FBLEPROF_EXACT"))) return status;
  }
  hold_signals();
  const std::string library = find_library();
  if (library.empty()) {
    return give_up(kWrongUse, "libfbleprof.so was not found: install it with fble-prof");
  }
  if (const auto delay = read_time(value_of(request, "FBLEPROF_DELAY"))) {
    // What can be wrong is said before the wait.
    if (const std::string fault = fault_of_directory(request, *pid); !fault.empty()) {
      return give_up(kWrongUse, fault);
    }
    const auto recorder = find_own_recorder(*pid, library);
    if (!recorder) return give_up(kRefused, recorder.error().line());
    if (const int status = check_confinement(request, *pid, filtered)) return status;
    if (wait_for_end(*pid, *delay) == Waited::kUntilSignal) {
      return give_up(kRefused, "interrupted in the delay: process " + std::to_string(*pid) +
                                   " is not recorded");
    }
  }
  if (const int status = start(request, *pid, library, filtered)) return status;
  const auto duration = read_time(value_of(request, "FBLEPROF_DURATION"));
  if (!is_ended_by_us(request) || !duration) return 0;
  const bool has_ended = wait_for_end(*pid, *duration) == Waited::kUntilProcessEnded;
  return has_ended ? 0 : stop(*pid, library, filtered);
}

int detach(const std::vector<std::string>& given) {
  std::vector<std::string> words = given;
  const Filtered filtered = take_filtered(words);
  if (const std::string asked = text_asked_for(words, kHelp); !asked.empty()) return print(asked);
  const auto pid = words.size() == 1 ? read_pid(words[0]) : std::nullopt;
  if (!pid) return give_up(kWrongUse, "expected PID (fble-prof detach PID)");
  hold_signals();
  return stop(*pid, find_library(), filtered);
}

}  // namespace fbleprof::launch
