#include "report/views/run_facts.h"

#include <algorithm>

#include "analysis/costs.h"
#include "base/capped.h"
#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

std::uint64_t tree_total(const Profile& profile, std::string_view name, const Tree& tree) {
  if (tree.figures != nullptr) {
    for (const MetricTotal& total : tree.figures->totals) {
      if (total.metric == name) return total.value;
    }
    return 0;
  }
  const Metric* metric = profile.find_metric(name);
  return metric != nullptr ? analysis::total(profile, *metric, tree) : 0;
}

std::uint64_t node_count_of(const Tree& tree) {
  if (tree.figures != nullptr) return tree.figures->node_count;
  return tree.end.index() - tree.begin.index();
}

RunFacts run_facts(const Profile& profile, ProcessId process) {
  RunFacts facts;
  const auto add = [](std::uint64_t& sum, std::uint64_t value) { sum = capped_sum(sum, value); };
  for (const Thread& thread : profile.threads()) {
    if (process && thread.process != process) continue;
    add(facts.threads, thread.threads_served);
    add(facts.cpu_ns, thread.cpu_ns);
    add(facts.wall_ns, thread.wall_ns);
    add(facts.samples, thread.samples);
    add(facts.dropped, thread.dropped);
    add(facts.lost_calls, thread.lost_calls);
    add(facts.deep_calls, thread.deep_calls);
    add(facts.unmatched, thread.unmatched);
    facts.hooked_threads += (thread.flags & format::kThreadHooked) != 0;
  }
  std::vector<bool> counted(profile.nodes().count());
  for (const Tree& tree : profile.trees()) {
    if (process && tree.process != process) continue;
    ++facts.trees;
    facts.node_count += node_count_of(tree);
    add(facts.overhead_ns, tree_total(profile, "overhead", tree));
    add(facts.calls, tree_total(profile, "calls", tree));
    add(facts.ticks, tree_total(profile, "ticks", tree));
    if (tree.figures != nullptr) {
      facts.edge_count += tree.figures->edge_count;
      facts.deepest = std::max<std::uint64_t>(facts.deepest, tree.figures->deepest);
    }
    for (std::size_t n = tree.begin.index(); n < tree.end.index(); ++n) {
      counted[n] = true;
      facts.deepest = std::max<std::uint64_t>(facts.deepest, profile.nodes().depth[n]);
    }
  }
  for (const NodeId from : profile.edges().from) facts.edge_count += counted[from.index()];
  return facts;
}

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

// As a shell would take it: in single quotes, those within it escaped.
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

}  // namespace

std::string command_text(const Profile& profile, const Process& process) {
  std::string_view arguments = profile.text(process.command_line);
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

std::uint64_t reached_hz(const RunFacts& facts) {
  if (facts.cpu_ns == 0) return 0;
  return static_cast<std::uint64_t>(
      static_cast<double>(facts.samples) * 1e9 / static_cast<double>(facts.cpu_ns) + 0.5);
}

}  // namespace fbleprof::report
