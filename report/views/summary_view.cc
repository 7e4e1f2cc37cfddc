// --summary: the program that ran, and how it was recorded.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>

#include "analysis/run_facts.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/run_words.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using analysis::reached_hz;
using analysis::run_facts;
using analysis::RunFacts;
using analysis::tree_total;
using Kind = Column::Kind;

namespace {

std::string time_text(std::uint64_t ns) { return quantity(ns, "ns"); }

std::string start_text(const Process& process) {
  if (process.start_realtime_ns == 0) return "unknown";
  const auto seconds = static_cast<std::time_t>(process.start_realtime_ns / 1'000'000'000);
  std::tm local;
  if (localtime_r(&seconds, &local) == nullptr) return "unknown";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

// The file of a program that has not ended says how far it was recorded, not how long it ran.
std::string elapsed_text(const Process& process) {
  const bool has_end = process.is_imported || process.state == ProcessState::kEnded ||
                       process.state == ProcessState::kExeced ||
                       process.state == ProcessState::kFatal;
  return time_text(process.duration_ns) + (has_end ? "" : ", up to what was recorded last");
}

std::string how_it_ended(const Process& process) {
  switch (process.state) {
    case ProcessState::kUnknown:
      return "unknown: it recorded no end, and whether it still runs cannot be checked here";
    case ProcessState::kLive:
      return "live: the program is running now";
    case ProcessState::kEnded:
      return "ended";
    case ProcessState::kExeced:
      return "replaced by another program (exec)";
    case ProcessState::kFatal:
      return fmt::format("ended by signal {} ({})", process.end_code,
                         strsignal(static_cast<int>(process.end_code)));
    case ProcessState::kKilled:
      return "killed, or ended by its own system call: at most one sampling period is missing";
  }
  return "unknown";
}

// One fact, in both forms.
struct Fact {
  std::string key;
  std::string title;  // "" = for programs only
  std::string shown;  // for people
  std::string value;  // for programs, unless is_number
  bool is_number = false;
  std::uint64_t number = 0;
  bool only_if_set = false;  // a count of losses: shown in text only if not 0
};

// What the counted run's summary says of its sampled run. `process`: null if there is none.
std::vector<Fact> facts_of_sampled_run(const Process* process, const RunFacts& run) {
  const std::uint64_t elapsed_ns = process != nullptr ? process->duration_ns : 0;
  const std::string shown =
      process == nullptr
          ? ""
          : fmt::format("{} of CPU time, {} at {} Hz, elapsed {}", time_text(run.cpu_ns),
                        counted(run.samples, "sample"), reached_hz(run), time_text(elapsed_ns));
  return {{"sampled_run_cpu_ns", "sampled run", shown, {}, true, run.cpu_ns},
          {"sampled_run_duration_ns", "", {}, {}, true, elapsed_ns},
          {"sampled_run_samples", "", {}, {}, true, run.samples}};
}

std::vector<Fact> facts_of(const Profile& profile, const Process& process, const RunFacts& run) {
  std::vector<Fact> facts;
  const auto text = [&](const char* key, const char* title, std::string value,
                        std::string shown = {}) {
    if (shown.empty()) shown = value;
    facts.push_back({key, title, std::move(shown), std::move(value)});
  };
  const auto number = [&](const char* key, const char* title, std::uint64_t value,
                          std::string shown = {}, bool only_if_set = false) {
    if (shown.empty()) shown = count(value);
    facts.push_back({key, title, std::move(shown), {}, true, value, only_if_set});
  };
  const std::uint64_t hz = reached_hz(run);
  text("file", "profile", escape(profile.text(process.file)));
  text("command", "command", command_text(profile, process));
  text("executable", "program", escape(profile.text(process.executable)));
  text("host", "host", escape(profile.text(process.host)));
  number("pid", "process", process.pid,
         fmt::format("{} (parent {})", process.pid, process.parent_pid));
  number("parent_pid", "", process.parent_pid);
  text("state", "state", state_name(process.state), how_it_ended(process));
  number("end_code", "", process.end_code);
  text("goes_on_in", "goes on in", escape(profile.text(process.goes_on_in)));
  number("start_realtime_ns", "started", process.start_realtime_ns, start_text(process));
  number("duration_ns", "elapsed", process.duration_ns, elapsed_text(process));
  const std::uint64_t recorded = process.duration_ns - process.off_ns;
  number("recorded_ns", "recorded for", recorded, time_text(recorded));
  text("run", "figures of", process.has_sampled_run ? "counted" : "",
       process.has_sampled_run
           ? "the counted run; views of contexts have the times of the sampled run (--runs 2)"
           : "");
  text("clock", "clock", clock_name(process.clock));
  text("sample_source", "samples from", source_name(process.source),
       process.is_imported                          ? "another profiler"
       : process.source == SampleSource::kTaskClock ? "task-clock events, one timer per thread"
       : process.source == SampleSource::kCpuTimer
           ? "CPU timers: the kernel delivers at most one per kernel tick"
           : "nowhere: hooks only");
  number("rate_asked_hz", "rate requested", process.rate_hz, fmt::format("{} Hz", process.rate_hz));
  number("rate_reached_hz", "rate reached", hz, fmt::format("{} Hz of CPU time", hz),
         process.is_imported);
  number("samples", "samples", run.samples);
  number("samples_dropped", "signals put off", run.dropped,
         fmt::format("{} (the next sample charged their time)", count(run.dropped)), true);
  number("cpu_ns", "CPU time", run.cpu_ns, time_text(run.cpu_ns));
  number("overhead_ns", "profiling cost", run.overhead_ns,
         run.knows_cost()
             ? fmt::format("{} ({} of CPU time; not in the figures)", time_text(run.overhead_ns),
                           percent(run.overhead_ns, run.cpu_ns))
             : fmt::format("{}, not in the figures", time_text(run.overhead_ns)));
  number("process_cpu_ns", "CPU of process", process.process_cpu_ns,
         fmt::format("{} as the kernel counts it", time_text(process.process_cpu_ns)), true);
  number("unrecorded_cpu_ns", "not sampled", process.unrecorded_cpu_ns,
         fmt::format("{} of the process's CPU time, which no sample charged",
                     time_text(process.unrecorded_cpu_ns)),
         true);
  number("calls", "calls counted", run.calls);
  number("ticks", "ticks", run.ticks, {}, true);
  number("threads", "threads", run.threads,
         fmt::format("{} in {}", count(run.threads), counted(run.trees, "tree")));
  number("tree_count", "", run.trees);
  number("node_count", "contexts", run.node_count,
         fmt::format("{} ({}, {} deep)", count(run.node_count), counted(run.edge_count, "edge"),
                     count(run.deepest)));
  number("edge_count", "", run.edge_count);
  number("deepest", "", run.deepest);
  number("used_bytes", "memory", process.used_bytes,
         fmt::format("{} of {} allowed", quantity(process.used_bytes, "bytes"),
                     quantity(process.cap_bytes, "bytes")));
  number("cap_bytes", "", process.cap_bytes);
  text("compaction", "recursion", compaction_name(process.compaction),
       process.compaction == Compaction::kPair     ? "folded by the pair rule"
       : process.compaction == Compaction::kSuffix ? "folded where the end of a path repeats"
                                                   : "not folded");
  number("overflow_contexts", "overflowed", run.trees == 0 ? 0 : process.overflow_contexts,
         fmt::format("{} {}, in [overflow] by caller and callee",
                     counted(process.overflow_contexts, "context"),
                     process.reached_memory_limit()
                         ? "past the memory limit (--memory)"
                         : "that found no room: disk full, file ended or program confined"),
         true);
  number(
      "depth_limit", "depth limit", run.trees == 0 ? 0 : process.depth_limit,
      fmt::format("{}: deeper contexts are in [deeper], by caller and callee", process.depth_limit),
      true);
  number("threads_left_out", "left out", run.threads_left_out,
         counted(run.threads_left_out, "thread") + ", by --only-thread or --not-thread", true);
  number("lost_threads", "lost threads", process.lost_threads, {}, true);
  number("lost_children", "lost children", process.lost_children, {}, true);
  number("lost_calls", "lost calls", run.lost_calls,
         fmt::format("{} could not be counted in context", count(run.lost_calls)), true);
  number("deep_calls", "too deep calls", run.deep_calls,
         fmt::format("{} beyond the end of the shadow stack", count(run.deep_calls)), true);
  number("unmatched_leaves", "unmatched", run.unmatched,
         fmt::format("{} {}", counted(run.unmatched, "call"), kUnmatchedLeaves), true);
  number(
      "foreign_signals", "other SIGPROF", process.foreign_signals,
      fmt::format("{} of the program's own, passed on", counted(process.foreign_signals, "signal")),
      true);
  return facts;
}

// The facts of each process. `sampled_runs`: see Request.
std::vector<std::vector<Fact>> facts_of_all(const Profile& profile, const Profile* sampled_runs) {
  std::vector<std::vector<Fact>> all;
  std::size_t next = 0;  // among the sampled runs
  for (std::size_t p = 0; p < profile.processes().size(); ++p) {
    const Process& process = profile.processes()[p];
    std::vector<Fact> facts = facts_of(profile, process, run_facts(profile, ProcessId(p)));
    const bool has_one = process.has_sampled_run && sampled_runs != nullptr &&
                         next < sampled_runs->processes().size();
    const auto of_sampled = has_one
                                ? facts_of_sampled_run(&sampled_runs->processes()[next],
                                                       run_facts(*sampled_runs, ProcessId(next)))
                                : facts_of_sampled_run(nullptr, {});
    if (has_one) ++next;
    const auto run = std::find_if(facts.begin(), facts.end(),
                                  [](const Fact& fact) { return fact.key == "run"; });
    facts.insert(std::next(run), of_sampled.begin(), of_sampled.end());
    all.push_back(std::move(facts));
  }
  return all;
}

std::string summary_text(const Profile& profile, const std::vector<std::vector<Fact>>& facts,
                         const Look& look) {
  std::string out;
  for (std::size_t p = 0; p < profile.processes().size(); ++p) {
    const Process& process = profile.processes()[p];
    if (p != 0) out += "\n";
    const auto put = [&](std::string_view title, std::string_view text) {
      out += paint(look, Ink::kDim, pad_right(title, 16)) + std::string(text) + "\n";
    };
    for (const Fact& fact : facts[p]) {
      if (fact.title.empty() || (fact.only_if_set && fact.number == 0)) continue;
      if (!fact.shown.empty()) put(fact.title, fact.shown);
    }
    for (const Label& label : process.labels) {
      put("label", escape(profile.text(label.key)) + "=" + escape(profile.text(label.value)));
    }
    for (const StringId note : process.notes) put("note", escape(profile.text(note)));
  }
  for (const std::string& warning : profile.warnings()) {
    out += paint(look, Ink::kWarm, pad_right("warning", 16)) + escape(warning) + "\n";
  }
  return out;
}

Cell value_of(const Fact& fact) {
  if (fact.is_number) return number_cell(fact.number);
  Cell cell;
  cell.parts.push_back({fact.value, {}});
  return cell;
}

// All facts of a process; escaped texts are not escaped again.
void put_process(const Profile& profile, const Process& process, const std::vector<Fact>& facts,
                 Section& section) {
  for (const Fact& fact : facts) {
    section.fields.push_back({fact.key, value_of(fact)});
  }
  auto& [key, labels] =
      section.maps.emplace_back("labels", std::vector<std::pair<std::string, std::string>>());
  for (const Label& label : process.labels) {
    labels.emplace_back(escape(profile.text(label.key)), escape(profile.text(label.value)));
  }
  std::vector<std::string> notes;
  for (const StringId note : process.notes) notes.push_back(escape(profile.text(note)));
  section.lists.emplace_back("notes", std::move(notes));
}

void put_sums(const Profile& profile, Section& section) {
  const RunFacts run = run_facts(profile, ProcessId());
  const std::pair<const char*, std::uint64_t> sums[] = {
      {"samples", run.samples},  {"cpu_ns", run.cpu_ns},         {"overhead_ns", run.overhead_ns},
      {"calls", run.calls},      {"ticks", run.ticks},           {"threads", run.threads},
      {"tree_count", run.trees}, {"node_count", run.node_count}, {"edge_count", run.edge_count},
      {"deepest", run.deepest}};
  for (const auto& [key, value] : sums) section.fields.push_back({key, number_cell(value)});
}

Table flat(const std::vector<std::vector<Fact>>& facts) {
  Table table;
  table.key = "rows";
  table.columns = {
      {"process", "", Kind::kNumber}, {"key", "", Kind::kText}, {"value", "", Kind::kText}};
  for (std::size_t p = 0; p < facts.size(); ++p) {
    for (const Fact& fact : facts[p]) {
      table.add({number_cell(p), text_cell(fact.key), value_of(fact)});
    }
  }
  return table;
}

Result<Document> summary(const Request& request) {
  const Profile& profile = request.runs;
  const auto& processes = profile.processes();
  const auto facts = facts_of_all(profile, request.sampled_runs);
  Document document("summary", Names(profile));
  if (processes.size() == 1) {
    put_process(profile, processes[0], facts[0], document);
  } else {
    put_sums(profile, document);
    document.parts_key = "processes";
    for (std::size_t p = 0; p < processes.size(); ++p) {
      put_process(profile, processes[p], facts[p], document.parts.emplace_back());
    }
  }
  std::vector<std::string> warnings;
  for (const std::string& warning : profile.warnings()) warnings.push_back(escape(warning));
  document.lists.emplace_back("warnings", std::move(warnings));
  document.flat = flat(facts);
  document.text = [&profile, facts](const Look& look) {
    return summary_text(profile, facts, look);
  };
  return document;
}

const Register kSummary({
    .name = "summary",
    .help = "what ran, how it was recorded, what was lost",
    .manual =
        "What ran, for how long, with which clock, at which rate, how it ended, and what was lost\n"
        "or folded.",
    .topic = View::Topic::kRuns,
    .subject = View::Subject::kRuns,
    .needs = [](const std::string&) { return Needs{.sampled_runs = true}; },
    .show = summary,
});

}  // namespace
}  // namespace fbleprof::report
