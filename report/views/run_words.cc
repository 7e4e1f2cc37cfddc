#include "report/views/run_words.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

std::string state_name(ProcessState state) {
  switch (state) {
    case ProcessState::kUnknown:
      break;
    case ProcessState::kLive:
      return "live";
    case ProcessState::kEnded:
      return "ended";
    case ProcessState::kExeced:
      return "replaced";
    case ProcessState::kFatal:
      return "fatal";
    case ProcessState::kKilled:
      return "killed";
  }
  return "unknown";
}

std::string end_text(const Process& process) {
  if (process.state != ProcessState::kFatal) return state_name(process.state);
  constexpr std::pair<int, const char*> kSignals[] = {
      {SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},   {SIGTRAP, "TRAP"},
      {SIGABRT, "ABRT"}, {SIGBUS, "BUS"},   {SIGFPE, "FPE"},   {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},
      {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"}, {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"},
      {SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGPROF, "PROF"}, {SIGSYS, "SYS"}};
  for (const auto& [number, name] : kSignals) {
    if (process.end_code == static_cast<std::uint32_t>(number)) {
      return std::string("ended by SIG") + name;
    }
  }
  return "ended by signal " + std::to_string(process.end_code);
}

std::string clock_name(Clock clock) {
  switch (clock) {
    case Clock::kCpu:
      return "cpu";
    case Clock::kWall:
      return "wall";
    case Clock::kTicks:
      return "ticks";
  }
  return "unknown";
}

std::string source_name(SampleSource source) {
  switch (source) {
    case SampleSource::kNone:
      return "none";
    case SampleSource::kTaskClock:
      return "task-clock";
    case SampleSource::kCpuTimer:
      return "cpu-timer";
  }
  return "unknown";
}

std::string compaction_name(Compaction compaction) {
  switch (compaction) {
    case Compaction::kPair:
      return "pair";
    case Compaction::kSuffix:
      return "suffix";
    case Compaction::kNone:
      return "none";
  }
  return "unknown";
}

namespace {

// In shell syntax: in single quotes, with inner ones escaped.
std::string quoted(std::string_view word) {
  std::string text = "'";
  for (const char c : escape(word)) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

// Programs that write a title over their arguments (postgres) leave NULs behind it, which would
// look like empty arguments. One empty argument at the end is more likely the user's.
std::string_view without_rest_of_title(std::string_view arguments) {
  constexpr std::string_view kTwoEmpty("\0\0\0", 3);
  if (!arguments.ends_with(kTwoEmpty)) return arguments;
  return arguments.substr(0, arguments.find_last_not_of('\0') + 1);
}

}  // namespace

std::string command_text(const Profile& profile, const Process& process) {
  std::string_view arguments = without_rest_of_title(profile.text(process.command_line));
  if (arguments.empty()) return escape(profile.text(process.executable));
  std::string text;
  while (!arguments.empty()) {
    const std::size_t end = std::min(arguments.find('\0'), arguments.size());
    const std::string_view word = arguments.substr(0, end);
    if (!text.empty()) text += ' ';
    const bool plain =
        !word.empty() && word.find_first_of(" '\"\\$&|;<>()*?`#\t\n") == std::string_view::npos;
    text += plain ? escape(word) : quoted(word);
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  return text;
}

}  // namespace fbleprof::report
