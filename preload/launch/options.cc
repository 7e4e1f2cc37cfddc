#include "launch/options.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "format/events.h"
#include "format/size_suffix.h"
#include "launch_paths.h"

namespace fbleprof::launch {
namespace {

namespace po = boost::program_options;

constexpr unsigned kColumns = 80;
constexpr unsigned kDescriptionColumns = 56;

constexpr char kMemoryProfile[] = "--memory-profile";
constexpr char kOnly[] = "only", kNot[] = "not";
constexpr char kMemoryProfileDefault[] = "hooks";

po::options_description recording_options() {
  po::options_description options("What to record", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("FILE"),
      "the profile's file. In FILE, %p is the process id, %e the program, %h the host, %t the "
      "time, %r the MPI rank. Child processes write FILE.PID; so does a program that replaces "
      "another one by exec. Default: mlmon.out");
  add("rate,r", po::value<std::string>()->value_name("HZ"),
      "samples per second of each thread's time, 1 to 20000. A higher rate is finer and costs "
      "more; some 6 % fewer are taken, and the report shows the rate that was reached. Default: "
      "1000");
  add("clock,c", po::value<std::string>()->value_name("CLOCK"),
      "what to measure. cpu: CPU time of each thread. wall: elapsed time, which is CPU time and "
      "the time that threads wait, each in its context (see --waits). ticks: calls, and the ticks "
      "of fbleprof_tick, instead of time: the same on every run (needs hooks or the C API). An "
      "event that the kernel counts in user mode: cycles, instructions, cache-misses, "
      "branch-misses (of the processor, where it has such counters), task-clock, page-faults, "
      "major-page-faults. Default: cpu");
  add("compact", po::value<std::string>()->value_name("RULE"),
      "how recursion is folded. pair: a caller and its callee stand together at most once on a "
      "path, so the tree is bounded by the code. suffix: a repeated end of the path is folded. "
      "none: nothing is folded, and deep recursion makes a deep tree. Default: pair");
  add("memory,m", po::value<std::string>()->value_name("SIZE"),
      "the largest size of the profile, 1M to 64G, in bytes or with K, M or G. Contexts beyond it "
      "are folded into [overflow], by caller and callee. Default: 256M. (To record the program's "
      "allocations, use --memory-profile.)");
  add("depth", po::value<std::string>()->value_name("N"),
      "the longest path, 1 to 60000. Deeper calls are folded into [deeper] below their ancestor at "
      "that depth, by caller and callee. This keeps long paths out of the tree. Default: no limit");
  add("tick-period", po::value<std::string>()->value_name("N"),
      "charge virtual time when N ticks have passed, to the context that is running then. A larger "
      "N is cheaper and coarser, and still the same on every run. Default: 1");
  add("exact", po::value<std::string>()->implicit_value("on")->value_name("MODULES"),
      "count every call of a program without hooks, in its exact context, by changing the starts "
      "of its functions in memory. Without MODULES: calls of the program and its libraries, but "
      "not of libc; in a Lua or Python program, calls of the script's functions instead of the "
      "interpreter's own. MODULES: names of files (libz,program: program is the program itself), "
      "or all. Other functions are sampled; the report's --coverage says which ones and why");
  add("runs", po::value<std::string>()->value_name("N"),
      "with --exact, 2: run the program twice, sampled and then counted, into one profile: calls "
      "and contexts of the counted run, times of the sampled run, which counting did not slow "
      "down. The report says if the two runs differ. Default: 1");
  add("throttle", po::value<std::string>()->value_name("N"),
      "stop counting a function that a thread calls more than N times in a second of its CPU time "
      "(with --exact, or compiled with -fpatchable-function-entry), so that it costs next to "
      "nothing. Its counts are then lower bounds, and the report's --coverage names it. Default: "
      "no limit");
  add("callsites", "keep calls from different places in the same function apart");
  add("leaves", "also record sampled addresses, for costs by source line and instruction");
  add("faults", "also record page faults by context, as the metrics minor-faults and major-faults");
  add("waits",
      "record where threads wait: the time in each call that blocks (sleep, read, poll, a lock, "
      "...), in its context, and the bytes read and written there. On by default with "
      "--clock=wall");
  add("no-waits",
      "do not record waits. With --clock=wall, a wait is then charged to the context of the "
      "thread's next sample");
  add("memory-profile",
      po::value<std::string>()->value_name("MODE")->implicit_value(kMemoryProfileDefault),
      "also record allocations and frees, by context: blocks, bytes, live memory, the peak, "
      "leaks. hooks (if no MODE is given): each allocation of code with hooks, one in 512 KiB "
      "elsewhere, which stands for the others. sample: one in 512 KiB everywhere; BYTES (64K): one "
      "in that many bytes. exact: each, with a walk of the stack where there are no hooks. With "
      "\",mmap\" after it, mapped memory counts, too. (--memory limits the profile's own size.)");
  add("no-native-below",
      "charge the time of code without hooks to the hooked function or block that called it, "
      "instead of showing that code below it");
  add("native",
      "also show an interpreter's own functions between those of its scripts. Default: left out");
  add("no-python", "do not show functions of Python scripts, only those of the interpreter");
  add("no-lua", "do not show functions of Lua scripts, only those of the interpreter");
  return options;
}

po::options_description filter_options() {
  po::options_description options("What to leave out", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  const auto pattern = [] {
    return po::value<std::vector<std::string>>()->value_name("PATTERN")->composing();
  };
  add(kOnly, pattern(),
      "record only functions that PATTERN names: exact, a glob (parse*), re:REGEX, file:GLOB or "
      "module:GLOB. What is left out is charged to the nearest caller that is kept");
  add(kNot, pattern(),
      "leave out functions that PATTERN names. Both options can be repeated; the last one that "
      "names a function decides");
  add("only-thread", pattern(),
      "record only threads whose name matches the glob PATTERN (worker*), from the moment they get "
      "that name");
  add("not-thread", pattern(),
      "do not record threads whose name matches PATTERN. The last option that names a thread "
      "decides. The summary counts the threads left out");
  return options;
}

po::options_description time_options() {
  po::options_description options("When to record", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  add("children", po::value<std::string>()->value_name("WHICH"),
      "which child processes to record: all, none, or those whose program's file name matches one "
      "of the patterns (cc1*,as). Default: all");
  add("start-off",
      "start with recording off: no timer, no cost. \"fble-prof ctl FILE start\", or the program "
      "with fbleprof_start(), turns recording on");
  add("delay", po::value<std::string>()->value_name("TIME"),
      "start recording after this time: 500ms, 10s, 5m, 1h");
  add("duration", po::value<std::string>()->value_name("TIME"),
      "stop recording after recording for this time. The program continues");
  add("control-signal", po::value<std::string>()->value_name("SIGNAL"),
      "turn recording on or off whenever the process gets this signal: USR1, USR2 or RTMIN+N. The "
      "program's own handler for this signal is not called");
  add("window", po::value<std::string>()->value_name("TIME[,N]"),
      "take a snapshot of all values every TIME and keep the newest N (12), so that the report can "
      "show the last seconds alone. fble-prof waits for the program instead of becoming it");
  return options;
}

po::options_description other_options() {
  po::options_description options("Other options", kColumns, kDescriptionColumns);
  auto add = options.add_options();
  add("names",
      "at the end of the run, put the functions' names into the profile, so that it can be read "
      "after a rebuild and on other machines. fble-prof waits for the program instead of "
      "becoming it");
  add("verbose,v", "report on stderr what the recorder does and what it cannot do");
  add("help,h", "show this text");
  add("version", "show the version");
  return options;
}

po::options_description all_options() {
  po::options_description options;
  options.add(recording_options()).add(filter_options()).add(time_options()).add(other_options());
  return options;
}

// Whether this option takes a value. False for unknown options too: the parser reports those.
bool wants_value(const po::options_description& options, const std::string& name) {
  if (name == kMemoryProfile + 2) return false;  // its value, if any, follows a "="
  const po::option_description* option = options.find_nothrow(name, false);
  return option != nullptr && option->semantic()->min_tokens() > 0;
}

// How many of `arguments` are ours: those before the program, except "--".
std::size_t own_words(const po::options_description& options,
                      const std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size()) {
    const std::string& word = arguments[at];
    if (word == "--" || word.size() < 2 || word[0] != '-') break;
    bool value_follows = false;
    if (word[1] == '-') {
      value_follows = word.find('=') == std::string::npos && wants_value(options, word.substr(2));
    } else {
      for (std::size_t i = 1; i < word.size(); ++i) {
        if (!wants_value(options, std::string("-") + word[i])) continue;
        value_follows = i + 1 == word.size();
        break;
      }
    }
    at += value_follows ? 2 : 1;
  }
  return std::min(at, arguments.size());
}

std::optional<std::uint64_t> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool is_rate(const std::string& text) {
  constexpr std::uint64_t kMaxRateHz = 20000;
  const auto value = whole_number(text);
  return value && *value >= 1 && *value <= kMaxRateHz;
}

bool is_depth(const std::string& text) {
  constexpr std::uint64_t kMost = 60000;
  const auto value = whole_number(text);
  return value && *value >= 1 && *value <= kMost;
}

bool is_tick_period(const std::string& text) {
  const auto value = whole_number(text);
  return value && *value >= 1 && *value <= 1'000'000'000;
}

bool is_throttle(const std::string& text) {
  const auto value = whole_number(text);
  return value && *value >= 1;
}

// Bytes, or a number with K, M or G; from `least` to 64G.
bool is_bytes(const std::string& text, std::uint64_t least) {
  constexpr std::uint64_t kMost = 64ULL << 30;
  std::string digits = text;
  const int shift = digits.empty() ? 0 : format::shift_of_suffix(digits.back());
  if (shift != 0) digits.pop_back();
  const auto value = whole_number(digits);
  return value && *value <= kMost >> shift && *value << shift >= least;
}

bool is_memory(const std::string& text) { return is_bytes(text, 1ULL << 20); }

bool is_one_of(const std::string& text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (text == name) return true;
  }
  return false;
}

const format::Event* event_of(const std::string& text) {
  for (const format::Event& event : format::kEvents) {
    if (text == event.name) return &event;
  }
  return nullptr;
}
bool is_clock(const std::string& text) {
  return is_one_of(text, {"cpu", "wall", "ticks"}) || event_of(text) != nullptr;
}
// Why an event cannot be sampled here; empty: it can.
std::string fault_of_event(const format::Event& event) {
  perf_event_attr attributes = format::attributes_of(event);
  const long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) return close(static_cast<int>(fd)), std::string();
  const std::string start = std::string("--clock=") + event.name + ": ";
  if (errno == EACCES || errno == EPERM) {
    return start +
           "the kernel refuses it: lower /proc/sys/kernel/perf_event_paranoid to 2, and "
           "allow perf_event_open in the container";
  }
  if (event.type == PERF_TYPE_HARDWARE) {
    return start +
           "this machine has no such hardware counter (most virtual machines hide them): "
           "use --clock=task-clock or cpu here";
  }
  return start + "the kernel does not count it: " + std::strerror(errno);
}
bool is_rule(const std::string& text) { return is_one_of(text, {"pair", "suffix", "none"}); }
bool is_allocations(const std::string& text) {
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string mode = text.substr(0, end), rest = text.substr(end);
  return (rest.empty() || rest == ",mmap") &&
         (is_one_of(mode, {"hooks", "sample", "exact", "off"}) || is_bytes(mode, 2));
}
// As the recorder expands it, which keeps a % with another letter as it is.
bool is_output(const std::string& text) {
  for (std::size_t at = text.find('%'); at < text.size(); at = text.find('%', at + 2)) {
    if (at + 1 == text.size() || std::strchr("pehtr%", text[at + 1]) == nullptr) return false;
  }
  return !text.empty();
}
// The recorder keeps as much of a list.
bool is_list(const std::string& text) { return !text.empty() && text.size() < 1024; }
bool is_time(const std::string& text) { return read_time(text).has_value(); }
bool is_signal(const std::string& text) {
  const std::string name = text.starts_with("SIG") ? text.substr(3) : text;
  if (is_one_of(name, {"USR1", "USR2", "RTMIN"})) return true;
  constexpr std::uint64_t kMost = 30;
  const auto more = name.starts_with("RTMIN+") ? whole_number(name.substr(6)) : std::nullopt;
  return more && *more <= kMost;
}

struct Valued {
  const char* option;
  const char* variable;
  bool (*valid)(const std::string&);
  const char* expected;
};
constexpr Valued kValued[] = {
    {"out", "FBLEPROF_OUT", is_output,
     "the name of a file, in which a % stands before p, e, h, t or r, or is written %%"},
    {"rate", "FBLEPROF_RATE", is_rate, "1 to 20000 (Hz)"},
    {"clock", "FBLEPROF_CLOCK", is_clock, format::kClockNames},
    {"compact", "FBLEPROF_COMPACT", is_rule, "pair, suffix or none"},
    {"depth", "FBLEPROF_DEPTH", is_depth, "1 to 60000 (contexts on a path)"},
    {"tick-period", "FBLEPROF_TICK_PERIOD", is_tick_period, "1 to 1000000000 (ticks)"},
    {"memory", "FBLEPROF_MEMORY", is_memory, "1M to 64G (bytes, or with K, M or G)"},
    {"exact", "FBLEPROF_EXACT", is_list, "on, off, all, or names of modules, less than 1024 bytes"},
    {"throttle", "FBLEPROF_THROTTLE", is_throttle, "1 or more (calls a second)"},
    {"children", "FBLEPROF_CHILDREN", is_list,
     "all, none, or patterns of names, less than 1024 bytes"},
    {"delay", "FBLEPROF_DELAY", is_time, "a time such as 500ms, 10s, 5m or 1h"},
    {"duration", "FBLEPROF_DURATION", is_time, "a time such as 500ms, 10s, 5m or 1h"},
    {"control-signal", "FBLEPROF_CONTROL_SIGNAL", is_signal, "USR1, USR2 or RTMIN+N"},
    {"memory-profile", "FBLEPROF_ALLOCS", is_allocations,
     "exact, sample, hooks, off or the bytes to a sample (with K, M or G); then \",mmap\" or "
     "nothing"},
};

struct Switch {
  const char* option;
  const char* variable;
  const char* value;
};
constexpr Switch kSwitches[] = {
    {"callsites", "FBLEPROF_CALLSITES", "1"}, {"leaves", "FBLEPROF_LEAVES", "1"},
    {"faults", "FBLEPROF_FAULTS", "1"},       {"no-native-below", "FBLEPROF_NATIVE_BELOW", "off"},
    {"native", "FBLEPROF_NATIVE", "on"},      {"no-python", "FBLEPROF_PYTHON", "off"},
    {"no-lua", "FBLEPROF_LUA", "off"},        {"start-off", "FBLEPROF_START", "off"},
    {"verbose", "FBLEPROF_VERBOSE", "1"},     {"waits", "FBLEPROF_WAITS", "1"},
    {"no-waits", "FBLEPROF_WAITS", "off"},
};

// Patterns in the order in which they were given, with "!" before those to leave out.
struct PatternOptions {
  const char* only;
  const char* leave_out;
  const char* variable;
  std::size_t most_bytes;
};
constexpr PatternOptions kPatternOptions[] = {
    {kOnly, kNot, "FBLEPROF_FILTER", 4000},
    {"only-thread", "not-thread", "FBLEPROF_THREADS", 1000},
};

void read_patterns(const PatternOptions& options, const std::vector<po::option>& given,
                   Request* request) {
  std::string filter;
  for (const po::option& option : given) {
    const bool is_not = option.string_key == options.leave_out;
    if (option.string_key != options.only && !is_not) continue;
    for (const std::string& pattern : option.value) {
      if (pattern.empty() || pattern[0] == '!' || pattern.find(';') != std::string::npos) {
        request->error = "--" + option.string_key + "=" + pattern +
                         ": expected a pattern without \";\", that does not begin with \"!\"";
        return;
      }
      filter += (filter.empty() ? "" : ";") + std::string(is_not ? "!" : "") + pattern;
    }
  }
  if (filter.size() > options.most_bytes) {
    request->error = std::string("--") + options.only + ", --" + options.leave_out +
                     ": more than " + std::to_string(options.most_bytes) + " bytes of patterns";
  }
  if (!filter.empty()) request->environment.emplace_back(options.variable, filter);
}

void read_settings(const po::variables_map& given, Request* request) {
  for (const Valued& setting : kValued) {
    if (given.count(setting.option) == 0) continue;
    const auto& value = given[setting.option].as<std::string>();
    if (!setting.valid(value)) {
      request->error =
          std::string("--") + setting.option + "=" + value + ": expected " + setting.expected;
      return;
    }
    request->environment.emplace_back(setting.variable, value);
  }
  const auto* event =
      given.count("clock") != 0 ? event_of(given["clock"].as<std::string>()) : nullptr;
  if (event != nullptr) request->error = fault_of_event(*event);
  if (!request->error.empty()) return;
  const bool has_time = given.count("clock") == 0 || given["clock"].as<std::string>() != "ticks";
  for (const char* option : {"delay", "duration"}) {
    if (has_time || given.count(option) == 0) continue;
    request->error = std::string("--") + option +
                     " needs a clock of time, not of ticks: turn recording on and off with "
                     "fble-prof ctl";
    return;
  }
  if (given.count("waits") != 0 && given.count("no-waits") != 0) {
    request->error = "--waits and --no-waits: only one of them";
    return;
  }
  for (const Switch& setting : kSwitches) {
    if (given.count(setting.option) != 0) {
      request->environment.emplace_back(setting.variable, setting.value);
    }
  }
}

// FBLEPROF_EXACT in the environment is --exact as well.
void read_runs(const po::variables_map& given, Request* request) {
  if (given.count("runs") == 0 || !request->error.empty()) return;
  const auto& value = given["runs"].as<std::string>();
  if (value != "1" && value != "2") {
    request->error = "--runs=" + value + ": expected 1 or 2";
    return;
  }
  request->twice = value == "2";
  const bool is_given = given.count("exact") != 0;
  const char* exact =
      is_given ? given["exact"].as<std::string>().c_str() : std::getenv("FBLEPROF_EXACT");
  if (request->twice && is_off(exact)) {
    request->error = "--runs=2 needs --exact: one run is sampled, the other counted";
  } else if (request->twice && given.count("start-off") != 0) {
    request->error = "--start-off cannot be used with --runs=2: nobody would start both recordings";
  }
}

void read_window(const po::variables_map& given, Request* request) {
  if (given.count("window") == 0 || !request->error.empty()) return;
  const auto& value = given["window"].as<std::string>();
  const auto windows = read_windows(value);
  if (windows) {
    request->windows = *windows;
  } else {
    request->error =
        "--window=" + value +
        ": expected a time such as 500ms, 10s or 5m, optionally followed by \",N\", 1 to 1000";
  }
  if (windows && request->twice) request->error = "--window cannot be used with --runs=2";
}

}  // namespace

Request read_request(const std::vector<std::string>& arguments) {
  Request request;
  const po::options_description options = all_options();
  const std::size_t own = own_words(options, arguments);
  std::size_t program = own;
  if (program < arguments.size() && arguments[program] == "--") ++program;
  request.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(program), arguments.end());
  po::variables_map given;
  try {
    std::vector<std::string> ours(arguments.begin(),
                                  arguments.begin() + static_cast<std::ptrdiff_t>(own));
    // The parser would take the next word for its value.
    std::replace(ours.begin(), ours.end(), std::string(kMemoryProfile),
                 std::string(kMemoryProfile) + "=" + kMemoryProfileDefault);
    // Options may not be abbreviated: a new option could change what "--r" means.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(ours).options(options).style(style).run();
    for (const PatternOptions& each : kPatternOptions) {
      read_patterns(each, parsed.options, &request);
    }
    po::store(parsed, given);
  } catch (const po::error& error) {
    request.error = error.what();
    return request;
  }
  if (given.count("help") != 0) {
    request.action = Action::kHelp;
  } else if (given.count("version") != 0) {
    request.action = Action::kVersion;
  } else {
    if (request.error.empty()) read_settings(given, &request);
    request.names = given.count("names") != 0;
    read_runs(given, &request);
    read_window(given, &request);
    if (request.error.empty() && request.command.empty()) request.error = "no program is named";
  }
  return request;
}

bool is_off(const char* value) {
  const std::string_view text = value != nullptr ? value : "";
  for (const char* off : {"", "0", "off", "no", "false"}) {
    if (text == off) return true;
  }
  return false;
}

std::string version() { return std::string("fble-prof ") + kVersion + "\n"; }

std::string text_asked_for(const std::vector<std::string>& words, const std::string& help) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return help;
    if (word == "--version") return version();
  }
  return {};
}

std::string help() {
  std::ostringstream text;
  text << "fble-prof [options] program [arguments...]\n"
          "\n"
          "Runs a program and records where its time goes, in which calling context, in a\n"
          "profile for fble-prof-report. The program need not be rebuilt. If it was built\n"
          "with -fpatchable-function-entry=5, -pg -mfentry, -pg or -finstrument-functions,\n"
          "every call is counted, too. The program keeps its own output, signals and exit\n"
          "status.\n"
          "\n"
          "Examples\n"
          "  fble-prof ./prog input.txt            profile it, then: fble-prof-report mlmon.out\n"
          "  fble-prof -o /tmp/%e.%p.out make -j2  one profile for each process\n"
          "  fble-prof --clock=wall ./server       elapsed time: CPU time and waits\n"
          "  fble-prof --rate=10000 ./short        finer samples for a short run\n"
          "  fble-prof --memory-profile ./prog     allocations, too\n"
          "  fble-prof --window 10s ./server       snapshots, to see the last minutes alone\n"
          "  fble-prof attach --duration 10s PID   a running program\n"
          "  fble-prof ctl mlmon.out stop          stop recording (fble-prof ctl --help)\n"
          "  fble-prof -o prof.out -- -odd-name    a program whose name begins with a dash\n"
          "\n"
       << recording_options() << "\n"
       << filter_options() << "\n"
       << time_options() << "\n"
       << other_options()
       << "\n"
          "Options after the program's name belong to the program. Each option sets a\n"
          "variable that the recorder reads: \"fble-prof -r 500 ./prog\" is the same as\n"
          "  FBLEPROF_RATE=500 LD_PRELOAD=/usr/local/lib/libfbleprof.so ./prog\n"
          "with the full path of the installed library.\n"
          "\n"
          "Exit status: the program's; 127 if it was not found, 126 if it could not be run,\n"
          "2 if an option is wrong.\n";
  return text.str();
}

}  // namespace fbleprof::launch
