#include "launch/ctl.h"

#include <algorithm>
#include <cstdio>

#include "control/running_profile.h"
#include "launch/options.h"
#include "launch/periodic.h"
#include "launch/say.h"
#include "launch/time_text.h"

namespace fbleprof::launch {

using control::Answer;
using control::RunningProfile;

namespace {

constexpr int kNotDone = 1, kWrongUse = 2;
constexpr std::chrono::milliseconds kPatience(2000);

constexpr char kHelp[] =
    "fble-prof ctl FILE COMMAND\n"
    "\n"
    "Tells the recorder of a running program what to do. FILE is the program's profile;\n"
    "only its owner can do this.\n"
    "\n"
    "  status             show whether recording is on, the profile's size, the snapshots\n"
    "  start, stop        turn recording on or off\n"
    "  snapshot NAME      save the current values of all contexts under a name; replaces\n"
    "                     another snapshot of that name\n"
    "  reset              make the report count from this moment\n"
    "  windows TIME[,N]   take a snapshot every TIME (500ms, 10s, 5m) until the program ends,\n"
    "                     and keep the newest N of them (12)\n"
    "\n"
    "The program is not stopped, gets no signal while it sleeps, and does no work for\n"
    "snapshots: fble-prof takes them. A program that sleeps obeys start and stop when it\n"
    "runs next.\n"
    "\n"
    "Exit status: 0 done, 1 the program did not do it, 2 wrong usage or no such profile.\n";

int fail(int status, const std::string& line) { return give_up(status, "ctl: " + line); }

int report(const Status& failure) { return failure ? fail(kNotDone, failure->line()) : 0; }

const char* reason_text(format::SnapshotReason reason) {
  switch (reason) {
    case format::SnapshotReason::kPeriod:
      return "periodic";
    case format::SnapshotReason::kPeak:
      return "memory peak";
    case format::SnapshotReason::kReset:
      return "reset";
    case format::SnapshotReason::kAsked:
      break;
  }
  return "asked for";
}

std::string command_line(const RunningProfile& profile) {
  std::string text = profile.text(profile.header().command_line);
  while (!text.empty() && text.back() == 0) text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return printable(text);
}

int show_status(const RunningProfile& profile) {
  const format::Header& header = profile.header();
  constexpr double kMiB = 1 << 20;
  char sizes[128];
  std::snprintf(sizes, sizeof sizes, "%.1f MiB of %.0f MiB, %llu contexts",
                static_cast<double>(header.used_bytes) / kMiB,
                static_cast<double>(header.cap_bytes) / kMiB,
                static_cast<unsigned long long>(header.node_count));
  std::string text = std::string("recording  ") + (header.is_recording != 0 ? "on" : "off") +
                     "\nprogram    " + command_line(profile) + " (pid " +
                     std::to_string(header.pid) + "), profile begun " +
                     time_text(std::chrono::nanoseconds(profile.elapsed_ns())) +
                     " ago\nprofile    " + sizes + "\n";
  for (const control::KeptSnapshot& each : profile.snapshots()) {
    text += "snapshot   at " + time_text(std::chrono::nanoseconds(each.time_ns)) +
            (each.name.empty() ? "" : ": ") + printable(each.name) + " (" +
            reason_text(each.reason) + ")\n";
  }
  return print(text);
}

int set_recording(RunningProfile& profile, bool on) {
  const auto answer = profile.set_recording(on, kPatience);
  if (!answer) return fail(kNotDone, answer.error().line());
  const std::string pid = std::to_string(profile.header().pid);
  switch (*answer) {
    case Answer::kDone:
    case Answer::kAlready:
      return 0;
    case Answer::kPending:
      return fail(kNotDone, "process " + pid +
                                " sleeps: it obeys at its next call of a function "
                                "with hooks; or try again when it computes");
    case Answer::kDetached:
      return fail(kNotDone, "process " + pid + " is detached: use fble-prof attach " +
                                std::to_string(profile.pid()));
    case Answer::kRefused:
      break;
  }
  return fail(kNotDone, "process " + pid +
                            " obeys at its next call of a function with hooks; to reach it "
                            "otherwise, set kernel.perf_event_paranoid to 2 or less");
}

bool is_name(const std::string& text) {
  constexpr std::size_t kMostBytes = 255;
  return !text.empty() && text.size() <= kMostBytes && text.find("..") == std::string::npos;
}

}  // namespace

int control(const std::vector<std::string>& words) {
  // What follows a command is its own: a snapshot may have any name.
  const std::vector<std::string> first(
      words.begin(),
      words.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(words.size())));
  if (const std::string asked = text_asked_for(first, kHelp); !asked.empty()) return print(asked);
  const std::string command = words.size() > 1 ? words[1] : "";
  const std::size_t wanted = command == "snapshot" || command == "windows" ? 3 : 2;
  const bool is_known = command == "start" || command == "stop" || command == "status" ||
                        command == "reset" || command == "snapshot" || command == "windows";
  if (!is_known || words.size() != wanted) {
    return fail(kWrongUse,
                "expected FILE and one of start, stop, status, reset, snapshot NAME, windows TIME "
                "(fble-prof ctl --help)");
  }
  if (command == "snapshot" && !is_name(words[2])) {
    return fail(kWrongUse, words[2] + ": a name has 1 to 255 bytes and does not contain \"..\"");
  }
  const auto windows = command == "windows" ? read_windows(words[2]) : Windows{};
  if (!windows) {
    return fail(kWrongUse, words[2] +
                               ": expected a time such as 500ms, 10s or 5m, optionally "
                               "followed by \",N\", 1 to 1000");
  }
  auto profile = RunningProfile::open(words[0]);
  if (!profile) return fail(kWrongUse, profile.error().line());
  if (command == "status") return show_status(*profile);
  if (command == "snapshot") return report(profile->snapshot(words[2]));
  if (command == "reset") return report(profile->reset());
  if (command == "windows") return report(take_windows(*profile, *windows));
  return set_recording(*profile, command == "start");
}

}  // namespace fbleprof::launch
