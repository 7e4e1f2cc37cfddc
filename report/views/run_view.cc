#include "report/views/run_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>

#include "analysis/costs.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/run_facts.h"

namespace fbleprof::report {

using namespace profile;

namespace {

constexpr auto kLeft = Column::Align::kLeft;
constexpr auto kRight = Column::Align::kRight;

std::string time_text(std::uint64_t ns) { return quantity(ns, "ns"); }

std::string start_text(const Process& process) {
  if (process.start_realtime_ns == 0) return "unknown";
  const auto seconds = static_cast<std::time_t>(process.start_realtime_ns / 1'000'000'000);
  std::tm local;
  if (localtime_r(&seconds, &local) == nullptr) return "unknown";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

std::string how_it_ended(const Process& process) {
  switch (process.state) {
    case ProcessState::kUnknown:
      return "unknown: it said no end, and whether it still runs cannot be told here";
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
      return "killed, or ended by a system call of its own: short of at most one sampling period";
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
  bool only_if_set = false;  // a count of losses: for people only where there are any
};

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
  number("duration_ns", "recorded for", process.duration_ns, time_text(process.duration_ns));
  text("clock", "clock", clock_name(process.clock));
  text("sample_source", "samples from", source_name(process.source),
       process.is_imported                          ? "another profiler"
       : process.source == SampleSource::kTaskClock ? "task-clock events, a timer a thread"
       : process.source == SampleSource::kCpuTimer
           ? "CPU timers: the kernel delivers one a tick of its own at the most"
           : "nowhere: hooks only");
  number("rate_asked_hz", "rate asked", process.rate_hz, fmt::format("{} Hz", process.rate_hz));
  number("rate_reached_hz", "rate reached", hz, fmt::format("{} Hz of CPU time", hz));
  number("samples", "samples", run.samples);
  number("samples_dropped", "signals put off", run.dropped,
         fmt::format("{} (the next sample charged their time)", count(run.dropped)), true);
  number("cpu_ns", "CPU time", run.cpu_ns, time_text(run.cpu_ns));
  number("overhead_ns", "profiling cost", run.overhead_ns,
         fmt::format("{} ({} of CPU time; not in the figures)", time_text(run.overhead_ns),
                     percent(run.overhead_ns, run.cpu_ns)));
  number("process_cpu_ns", "CPU of process", process.process_cpu_ns,
         fmt::format("{} as the kernel counts it", time_text(process.process_cpu_ns)), true);
  number("calls", "calls counted", run.calls);
  number("ticks", "ticks", run.ticks, {}, true);
  number("threads", "threads", run.threads,
         fmt::format("{} in {} trees", count(run.threads), count(run.trees)));
  number("tree_count", "", run.trees);
  number("node_count", "contexts", run.node_count,
         fmt::format("{} ({} edges, {} deep)", count(run.node_count), count(run.edge_count),
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
         fmt::format("{} calls went to [overflow]: the memory limit was reached (FBLEPROF_MEMORY)",
                     count(process.overflow_contexts)),
         true);
  number("lost_threads", "lost threads", process.lost_threads, {}, true);
  number("lost_children", "lost children", process.lost_children, {}, true);
  number("lost_calls", "lost calls", run.lost_calls,
         fmt::format("{} could not be counted in context", count(run.lost_calls)), true);
  number("deep_calls", "too deep calls", run.deep_calls,
         fmt::format("{} beyond the end of the shadow stack", count(run.deep_calls)), true);
  number("unmatched_leaves", "unmatched", run.unmatched,
         fmt::format("{} leaves without an enter", count(run.unmatched)), true);
  number("foreign_signals", "other SIGPROF", process.foreign_signals,
         fmt::format("{} signals of the program's own passed on", count(process.foreign_signals)),
         true);
  return facts;
}

std::string summary_text(const Profile& profile, const Look& look) {
  std::string out;
  for (std::size_t p = 0; p < profile.processes().size(); ++p) {
    const Process& process = profile.processes()[p];
    if (p != 0) out += "\n";
    const auto put = [&](std::string_view title, std::string_view text) {
      out += paint(look, Ink::kDim, pad_right(title, 16)) + std::string(text) + "\n";
    };
    for (const Fact& fact : facts_of(profile, process, run_facts(profile, ProcessId(p)))) {
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

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void put_string(Json& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void put_facts(Json& json, const Profile& profile, ProcessId id) {
  const Process& process = profile.processes()[id.index()];
  for (const Fact& fact : facts_of(profile, process, run_facts(profile, id))) {
    json.Key(fact.key.data(), static_cast<rapidjson::SizeType>(fact.key.size()));
    if (fact.is_number) {
      json.Uint64(fact.number);
    } else {
      put_string(json, fact.value);
    }
  }
  json.Key("labels");
  json.StartObject();
  for (const Label& label : process.labels) {
    const std::string key = escape(profile.text(label.key));
    json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    put_string(json, escape(profile.text(label.value)));
  }
  json.EndObject();
  json.Key("notes");
  json.StartArray();
  for (const StringId note : process.notes) put_string(json, escape(profile.text(note)));
  json.EndArray();
}

std::string summary_json(const Profile& profile) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartObject();
  const auto field = [&](const char* key, std::string_view value) {
    json.Key(key);
    put_string(json, value);
  };
  field("schema", kJsonSchema);
  field("view", "summary");
  if (profile.processes().size() == 1) {
    put_facts(json, profile, ProcessId(0));
  } else {
    const RunFacts run = run_facts(profile, ProcessId());
    const std::pair<const char*, std::uint64_t> sums[] = {
        {"samples", run.samples},  {"cpu_ns", run.cpu_ns},         {"overhead_ns", run.overhead_ns},
        {"calls", run.calls},      {"ticks", run.ticks},           {"threads", run.threads},
        {"tree_count", run.trees}, {"node_count", run.node_count}, {"edge_count", run.edge_count},
        {"deepest", run.deepest}};
    for (const auto& [key, value] : sums) {
      json.Key(key);
      json.Uint64(value);
    }
    json.Key("processes");
    json.StartArray();
    for (std::size_t p = 0; p < profile.processes().size(); ++p) {
      json.StartObject();
      put_facts(json, profile, ProcessId(p));
      json.EndObject();
    }
    json.EndArray();
  }
  json.Key("warnings");
  json.StartArray();
  for (const std::string& warning : profile.warnings()) put_string(json, escape(warning));
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString()) + "\n";
}

std::string summary_csv(const Profile& profile) {
  std::string out = "process,key,value\n";
  for (std::size_t p = 0; p < profile.processes().size(); ++p) {
    for (const Fact& fact :
         facts_of(profile, profile.processes()[p], run_facts(profile, ProcessId(p)))) {
      out += fmt::format("{},{},{}\n", p, fact.key,
                         fact.is_number ? std::to_string(fact.number) : csv_field(fact.value));
    }
  }
  return out;
}

}  // namespace

std::string summary_view(const Profile& profile, const Look& look) {
  switch (look.format) {
    case Format::kJson:
      return summary_json(profile);
    case Format::kCsv:
      return summary_csv(profile);
    case Format::kText:
      break;
  }
  return summary_text(profile, look);
}

std::string thread_view(const Profile& profile, const Look& look) {
  Table table;
  table.columns = {{"tid", "tid", kRight},
                   {"process", profile.processes().size() > 1 ? "pid" : "", kRight},
                   {"threads", "threads", kRight},
                   {"start_ns", "start", kRight},
                   {"end_ns", "end", kRight},
                   {"cpu_ns", "cpu", kRight},
                   {"wall_ns", "wall", kRight},
                   {"overhead_ns", "own cost", kRight},
                   {"samples", "samples", kRight},
                   {"rate_reached_hz", "Hz", kRight},
                   {"dropped", "", kRight},
                   {"calls", "calls", kRight},
                   {"lost_calls", "", kRight},
                   {"nodes", "contexts", kRight},
                   {"hooked", "", kRight},
                   {"name", "name", kLeft}};
  const auto time_cell = [&](std::uint64_t ns) {
    return Cell{.text = quantity(ns, "ns", look.unit), .number = ns, .raw = {}};
  };
  std::vector<const Tree*> tree_of(profile.threads().size());
  for (const Tree& tree : profile.trees()) {
    if (tree.thread) tree_of[tree.thread.index()] = &tree;
  }
  for (std::size_t t = 0; t < profile.threads().size(); ++t) {
    const Thread& thread = profile.threads()[t];
    const auto sum = [&](const char* name) -> std::uint64_t {
      return tree_of[t] == nullptr ? 0 : tree_total(profile, name, *tree_of[t]);
    };
    RunFacts own;
    own.samples = thread.samples;
    own.cpu_ns = thread.cpu_ns;
    Cell end = time_cell(thread.end_ns);
    if ((thread.flags & format::kThreadRunning) != 0) {
      const bool live = thread.process &&
                        profile.processes()[thread.process.index()].state == ProcessState::kLive;
      end.text = live ? "running" : "with it";  // with its process
    }
    const std::uint64_t nodes = tree_of[t] == nullptr ? 0 : node_count_of(*tree_of[t]);
    const std::uint32_t pid = thread.process ? profile.processes()[thread.process.index()].pid : 0;
    Cell tid = count_cell(thread.tid), process = count_cell(pid);
    tid.text = std::to_string(thread.tid);
    process.text = std::to_string(pid);
    table.add({tid, process, count_cell(thread.threads_served), time_cell(thread.start_ns), end,
               time_cell(thread.cpu_ns), time_cell(thread.wall_ns), time_cell(sum("overhead")),
               count_cell(thread.samples), count_cell(reached_hz(own)), count_cell(thread.dropped),
               count_cell(sum("calls")), count_cell(thread.lost_calls), count_cell(nodes),
               flag_cell((thread.flags & format::kThreadHooked) != 0),
               text_cell(std::string(profile.text(thread.name)))});
  }
  switch (look.format) {
    case Format::kCsv:
      return csv_of(table);
    case Format::kJson:
      return fmt::format("{{\"schema\":\"{}\",\"view\":\"threads\",\"rows\":{}}}\n", kJsonSchema,
                         json_of(table));
    case Format::kText:
      break;
  }
  return text_of(table, look);
}

std::string heading(const Profile& profile, const Look& look) {
  std::string out;
  const auto put = [&](Ink ink, const std::string& text) {
    out += paint(look, ink, look.width == 0 ? text : cut(text, look.width)) + "\n";
  };
  const RunFacts run = run_facts(profile, ProcessId());
  if (profile.processes().size() == 1) {
    const Process& process = profile.processes()[0];
    const std::string facts =
        process.is_imported ? fmt::format("imported from {}", escape(profile.text(process.file)))
                            : fmt::format("{}, {}", process.pid, state_name(process.state));
    put(Ink::kBold, fmt::format("{}  [{}]", command_text(profile, process), facts));
  } else {
    put(Ink::kBold, fmt::format("{} profiles", profile.processes().size()));
  }
  std::string line;
  const auto add = [&](const std::string& part) {
    if (look.width != 0 && width_of(line) + 3 + width_of(part) > look.width) {
      put(Ink::kDim, line);
      line.clear();
    }
    line += (line.empty() ? "" : " · ") + part;
  };
  if (profile.processes().size() == 1 && profile.processes()[0].duration_ns != 0) {
    add(time_text(profile.processes()[0].duration_ns) + " recorded");
  }
  const bool is_untimed =
      !profile.processes().empty() &&
      std::all_of(profile.processes().begin(), profile.processes().end(),
                  [](const Process& process) { return process.clock == Clock::kTicks; });
  if (is_untimed) {
    add(run.calls + run.ticks == 0 ? "clock ticks, not time: nothing with hooks ran"
                                   : "clock ticks, not time");
    if (run.ticks != 0) add(count(run.ticks) + " ticks");
  }
  if (run.cpu_ns != 0) add(time_text(run.cpu_ns) + " CPU");
  if (run.samples != 0) {
    add(fmt::format("{} samples at {} Hz", count(run.samples), reached_hz(run)));
  }
  if (run.calls != 0) add(count(run.calls) + " calls");
  if (run.threads > 1) add(count(run.threads) + " threads");
  if (run.overhead_ns != 0) {
    add(fmt::format("profiling cost {} ({}), taken off", time_text(run.overhead_ns),
                    percent(run.overhead_ns, run.cpu_ns)));
  }
  if (profile.processes().size() == 1 && profile.processes()[0].goes_on_in) {
    add("goes on in " + escape(profile.text(profile.processes()[0].goes_on_in)));
  }
  if (!line.empty()) put(Ink::kDim, line);
  return out;
}

std::string process_split(const Profile& profile, const Metric& metric, const Look& look) {
  if (profile.processes().size() < 2) return {};
  Table table;
  table.columns = {
      {"", metric.name, kRight}, {"", "%", kRight}, {"", "pid", kRight}, {"", "profile", kLeft}};
  const std::uint64_t all = analysis::total(profile, metric);
  constexpr std::size_t kForPeople = 20;
  std::size_t shown = profile.processes().size();
  if (shown > kForPeople && !look.all) {
    table.notes.push_back(fmt::format("… {} more profiles (--all)", count(shown - kForPeople)));
    shown = kForPeople;
  }
  for (std::size_t p = 0; p < shown; ++p) {
    const Process& process = profile.processes()[p];
    std::uint64_t own = 0;
    for (const MetricTotal& merged : process.totals) {
      if (merged.metric == metric.name) own += merged.value;
    }
    for (const Tree& tree : profile.trees()) {
      if (tree.process == ProcessId(p)) own += analysis::total(profile, metric, tree);
    }
    Cell cost = text_cell(quantity(own, metric.unit, look.unit));
    table.add({cost, percent_cell(own, all), text_cell(std::to_string(process.pid)),
               text_cell(fmt::format("{}  {}", profile.text(process.file),
                                     command_text(profile, process)))});
  }
  return text_of(table, look) + "\n";
}

std::string default_metric(const Profile& profile) {
  const std::string preferred =
      profile.processes().empty() ? "cpu" : clock_name(profile.processes()[0].clock);
  const bool is_imported = !profile.processes().empty() && profile.processes()[0].is_imported;
  // What was counted, where time was not asked for.
  const std::string second = preferred == "ticks" ? "calls" : "cpu";
  for (const std::string& name :
       {preferred, second, std::string("cpu"), std::string("wall"), std::string("ticks"),
        std::string("samples"), std::string("calls")}) {
    if (is_imported) break;
    const Metric* metric = profile.find_metric(name);
    if (metric != nullptr && analysis::total(profile, *metric) != 0) return name;
  }
  // Imported or new metrics.
  for (const Metric& metric : profile.metrics()) {
    if (analysis::total(profile, metric) != 0) return metric.name;
  }
  return preferred;
}

}  // namespace fbleprof::report
