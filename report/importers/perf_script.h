// The output of `perf script`: per sample a header line, its stack, innermost frame first, and a
// blank line.
//
//     my prog  6738/6740 [001]  5799.127143:    1001001 cpu-clock:u:
//             ffffffff81591f22 filemap_get_entry+0x92 ([kernel.kallsyms])
//                        e2bc std::map<int, char>::operator[](int const&)+0x69c (/usr/bin/my prog)
//
// Each event is a metric: the sum of the periods if perf prints them, else of the samples
// (tracepoints). The periods of perf's clock events are nanoseconds; without periods, their samples
// are counted ("cpu-clock samples", which --metric cpu-clock finds, too). Without stacks (recorded
// without -g) the header holds the sampled function. Processes are told apart only if perf prints
// them (-F +pid); by default it prints only threads.
//
// perf prints addresses relative to the file's start, not the symbols' virtual addresses, so
// functions are identified by module and name. Frames without a name are [module].
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "profile/builder.h"
#include "report/importers/text_parser.h"

namespace fbleprof::importers {

// A sample while its lines are read.
struct PerfSample {
  std::size_t thread = 0;  // index into the parser's
  profile::MetricId event;
  bool event_is_time = false;
  std::uint64_t period = 1;
  std::vector<profile::FunctionId> frames;  // innermost first
};

class PerfScriptParser : public TextParser {
 public:
  explicit PerfScriptParser(std::string name);
  Result<profile::Profile> finish() override;

 private:
  struct ThreadOfFile {
    profile::Thread thread;
    profile::ProcessId process;
    profile::NodeId root;
  };
  struct Event {
    profile::MetricId metric;
    bool is_time;
  };

  Status parse(std::string_view text) override;
  Status begin_sample(std::string_view text);
  bool add_frame(std::string_view text);
  void end_sample();
  const Event& event(std::string_view name, bool has_period);
  std::size_t thread(std::uint32_t pid, std::uint32_t tid, std::string_view comm);
  profile::ProcessId process(std::uint32_t pid, std::string_view comm);
  profile::FunctionId function(std::string_view symbol, std::string_view module);

  profile::ProfileBuilder builder_;
  std::optional<PerfSample> sample_;
  bool expects_stack_ = false;
  std::optional<profile::MetricId> samples_;
  std::map<std::string, Event, std::less<>> events_;
  std::map<std::string, Event, std::less<>> clock_samples_;  // of clocks, without periods
  std::map<std::uint32_t, std::size_t> process_index_;       // by pid, into processes_
  std::vector<profile::Process> processes_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::size_t> thread_index_;
  std::vector<ThreadOfFile> threads_;
  std::map<std::string, profile::ModuleId, std::less<>> modules_;
  FlatMap functions_;  // module + 1 << 32 | name
  std::uint64_t first_ns_ = 0, last_ns_ = 0;
  bool any_time_ = false, lacks_pids_ = false;
};

// Whether a line is the header of a sample.
bool is_perf_script_header(std::string_view line);

}  // namespace fbleprof::importers
