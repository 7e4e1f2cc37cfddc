#include "report/views/heading.h"
#include "analysis/run_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/text/table.h"
#include "report/views/run_words.h"

namespace fbleprof::report {

using namespace profile;
using analysis::process_total;
using analysis::reached_hz;
using analysis::run_facts;
using analysis::RunFacts;
using analysis::tree_total;

namespace {

// Why a rate is not the requested one. A signal reaches a thread only while it runs its own code:
// time in the kernel is charged, by the next sample, but has no samples of its own.
std::string rate_text(const Profile& profile, const RunFacts& run) {
  std::uint64_t asked = 0;
  bool is_by_timer = false;
  for (const Process& process : profile.processes()) {
    asked = std::max<std::uint64_t>(asked, process.rate_hz);
    is_by_timer |= process.source == SampleSource::kCpuTimer;
  }
  if (asked == 0 || run.samples < 100 || reached_hz(run) * 10 >= asked * 9) return {};
  if (run.charged_ends * 2 > run.samples) {
    return fmt::format(" ({} requested; most threads ended before their first sample)", asked);
  }
  return is_by_timer ? fmt::format(" ({} requested; the kernel's timer gives no more)", asked)
                     : fmt::format(
                           " ({} requested; time in the kernel is charged, but not "
                           "sampled)",
                           asked);
}

std::string time_text(std::uint64_t ns) { return quantity(ns, "ns"); }

// The recorder needs a moment to start, which nobody asks about.
std::string elapsed_text(const Process& process) {
  const std::string elapsed = time_text(process.duration_ns) + " elapsed";
  if (process.off_ns < process.duration_ns / 50) return elapsed;
  return fmt::format("recorded for {} of {}", time_text(process.duration_ns - process.off_ns),
                     elapsed);
}

// While the processor waits for the program's instructions it runs the hook's, and the sample falls
// on the hook: its time is taken off, and the function's is too small (docs/PERFORMANCE.md).
// Where hooks cost little, that is less than chance.
bool may_lack_time(const RunFacts& run) {
  constexpr std::uint64_t kMuchPercent = 40;
  return run.calls != 0 && run.knows_cost() && run.overhead_ns > run.cpu_ns / 100 * kMuchPercent;
}

}  // namespace

std::string heading(const Profile& profile, bool has_sampled_times, const Look& look) {
  std::string out;
  const auto put = [&](Ink ink, const std::string& text) {
    out += paint(look, ink, look.width == 0 ? text : cut(text, look.width)) + "\n";
  };
  const RunFacts run = run_facts(profile, ProcessId());
  if (profile.processes().size() == 1) {
    const Process& process = profile.processes()[0];
    const std::string facts =
        process.is_imported ? fmt::format("imported from {}", escape(profile.text(process.file)))
                            : fmt::format("{}, {}{}", process.pid, end_text(process),
                                          process.has_sampled_run ? ", counted run" : "");
    put(Ink::kBold, fmt::format("{}  [{}]", command_text(profile, process), facts));
  } else {
    const auto sampled = static_cast<std::size_t>(
        std::count_if(profile.processes().begin(), profile.processes().end(),
                      [](const Process& process) { return process.has_sampled_run; }));
    put(Ink::kBold,
        fmt::format(
            "{} profiles{}", profile.processes().size(),
            sampled == 0 ? "" : fmt::format(" (without {})", counted(sampled, "sampled run"))));
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
    add(elapsed_text(profile.processes()[0]));
  }
  const bool is_untimed =
      !profile.processes().empty() &&
      std::all_of(profile.processes().begin(), profile.processes().end(),
                  [](const Process& process) { return process.clock == Clock::kTicks; });
  if (is_untimed) {
    add(run.calls + run.ticks == 0 ? "clock ticks, not time: nothing with hooks ran"
                                   : "clock ticks, not time");
    if (run.ticks != 0) add(counted(run.ticks, "tick"));
  }
  if (run.cpu_ns != 0) add(time_text(run.cpu_ns) + " CPU");
  if (run.samples != 0) {
    const std::uint64_t hz = reached_hz(run);
    add(counted(run.samples, "sample") +
        (hz != 0 ? fmt::format(", {} per second of CPU time", hz) + rate_text(profile, run) : ""));
  }
  if (run.calls != 0) add(counted(run.calls, "call"));
  if (run.threads > 1) add(count(run.threads) + " threads");
  if (run.overhead_ns != 0 && run.knows_cost()) {
    add(fmt::format("profiling cost {} ({}), taken off", time_text(run.overhead_ns),
                    percent(run.overhead_ns, run.cpu_ns)));
  }
  if (profile.processes().size() == 1 && profile.processes()[0].goes_on_in) {
    add("goes on in " + escape(profile.text(profile.processes()[0].goes_on_in)));
  }
  if (!line.empty()) put(Ink::kDim, line);
  if (!has_sampled_times && may_lack_time(run)) {
    put(Ink::kWarm,
        "times of often called functions may be too small: --exact --runs 2, --times-from");
  }
  return out;
}

std::string unrecorded_text(const RunFacts& run) {
  // What threads used since their last samples is not charged by one either.
  constexpr std::uint64_t kLeastNs = 100'000'000, kLeastPercent = 30;
  const std::uint64_t all = run.cpu_ns + run.unrecorded_ns;
  if (run.unrecorded_ns < kLeastNs || run.unrecorded_ns < all / 100 * kLeastPercent) return {};
  return time_text(run.unrecorded_ns) +
         " of CPU time not sampled: SIGPROF was blocked, or its action replaced";
}

std::string heading_with_loss(const Profile& profile, bool has_sampled_times, const Look& look) {
  const std::string loss = unrecorded_text(run_facts(profile, ProcessId()));
  if (loss.empty()) return heading(profile, has_sampled_times, look);
  return heading(profile, has_sampled_times, look) +
         paint(look, Ink::kWarm, look.width == 0 ? loss : cut(loss, look.width)) + "\n";
}

std::string process_split(const Profile& profile, const Metric& metric, const Look& look) {
  if (profile.processes().size() < 2) return {};
  using Kind = Column::Kind;
  Table table;
  table.columns = {{"", escape(metric.name), Kind::kCost},
                   {"", "%", Kind::kShare},
                   {"", "pid", Kind::kNumber},
                   {"", "profile", Kind::kText}};
  Measure measure{metric.name, metric.unit};
  for (const Tree& tree : profile.trees()) {
    metric.add(measure.kept, tree_total(profile, &metric, tree));
  }
  constexpr std::size_t kForPeople = 20;
  std::size_t shown = profile.processes().size();
  if (shown > kForPeople && !look.all) {
    table.notes.push_back(fmt::format("… {} more profiles (--all)", count(shown - kForPeople)));
    shown = kForPeople;
  }
  for (std::size_t p = 0; p < shown; ++p) {
    const Process& process = profile.processes()[p];
    const std::uint64_t own = process_total(profile, metric, ProcessId(p));
    table.add({number_cell(own), number_cell(own), number_cell(process.pid),
               text_cell(fmt::format("{}  {}", profile.text(process.file),
                                     command_text(profile, process)))});
  }
  return text_of(table, look, Names(profile), measure) + "\n";
}

}  // namespace fbleprof::report
