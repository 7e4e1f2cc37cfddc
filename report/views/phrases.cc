#include "report/views/phrases.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/run_facts.h"
#include "analysis/sampled.h"
#include "base/capped.h"
#include "format/format.h"
#include "plan/plan.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "transform/matcher.h"
#include "transform/peak.h"
#include "transform/suggest.h"

namespace fbleprof::report {

namespace {
constexpr std::size_t kRowsForPeople = 40;
}  // namespace

std::vector<std::string> remarks_on_exact(const profile::Profile& profile) {
  std::vector<std::string> remarks;
  for (const profile::Process& process : profile.processes()) {
    for (const profile::StringId note : process.notes) {
      const std::string text(profile.text(note));
      if (!text.starts_with(plan::kNotCountedRemark) && !text.starts_with("--exact: ")) continue;
      if (std::find(remarks.begin(), remarks.end(), text) == remarks.end()) remarks.push_back(text);
    }
  }
  return remarks;
}

std::vector<std::string> why_nothing_is_exact(const profile::Profile& profile) {
  for (const profile::Module& module : profile.modules()) {
    if (module.flags & format::kModuleIsExact) return {};
  }
  return remarks_on_exact(profile);
}

std::string filter_that_kept_nothing(const profile::Profile& profile) {
  const auto& functions = profile.nodes().function;
  const bool keeps_some = std::any_of(functions.begin(), functions.end(), [&](auto function) {
    using enum profile::FunctionKind;
    const auto kind = profile.functions().kind[function.index()];
    return kind != kRoot && kind != kOverflow && kind != kDeeper && kind != kTruncated &&
           kind != kUnwound;
  });
  if (keeps_some) return {};
  for (const profile::Process& process : profile.processes()) {
    for (const profile::StringId note : process.notes) {
      const std::string_view text = profile.text(note);
      if (!text.starts_with("filter ")) continue;
      return std::string(text.substr(0, text.rfind(": "))) +
             ": no sample or call was in a function that it keeps, so [root] has everything; a run "
             "without --only and --not shows the names";
    }
  }
  return {};
}

bool counts_some_calls(const profile::Profile& profile, profile::FunctionId function) {
  if (!function) return false;
  if (profile.lacks_callees() &&
      profile.functions().kind[function.index()] != profile::FunctionKind::kOverflow) {
    return true;
  }
  const std::uint16_t flags = profile.functions().flags[function.index()];
  return (flags & format::kFunctionNotCounted) != 0 &&
         plan::counts_some(static_cast<plan::Reason>(flags >> format::kFunctionReasonShift));
}

std::set<std::string> counted_languages(const profile::Profile& profile) {
  using profile::FunctionKind;
  const profile::Functions& functions = profile.functions();
  const auto is_scripts = [&](profile::FunctionId f) {
    const FunctionKind kind = functions.kind[f.index()];
    return (kind == FunctionKind::kBlock || kind == FunctionKind::kScript) &&
           functions.language[f.index()] && profile.text(functions.language[f.index()]) != "C";
  };
  std::set<std::string> languages;
  const profile::Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    if (edges.calls[e] == 0) continue;
    const profile::FunctionId callee = profile.nodes().function[edges.to[e].index()];
    if (is_scripts(callee)) {
      languages.insert(escape(profile.text(functions.language[callee.index()])));
    }
  }
  return languages;
}

std::uint64_t shown_average(const Request& request, std::uint64_t cost, std::uint64_t calls,
                            profile::FunctionId callee) {
  if (calls == 0 || !request.costs.is_sum()) return 0;
  return counts_some_calls(request.profile(), callee) ? 0 : rounded_quotient(cost, calls);
}

CallCells::CallCells(const Request& request)
    : profile_(&request.profile()),
      has_averages_(request.costs.is_sum()),
      any_counted_(analysis::has_counted_calls(request.profile())) {}

Cell CallCells::operator()(std::uint64_t calls, bool is_sampled, profile::FunctionId callee) {
  const bool is_some = calls != 0 && counts_some_calls(*profile_, callee);
  any_some_ |= is_some;
  Cell cell = number_cell(calls, is_some);
  if (!is_sampled || !any_counted_) return cell;
  any_sampled_ = true;
  return shown_as(cell, "·");
}

Cell CallCells::average(std::uint64_t cost, std::uint64_t calls, bool is_bound,
                        profile::FunctionId callee) const {
  const bool has_average = has_averages_ && !counts_some_calls(*profile_, callee);
  return average_cell(cost, has_average ? calls : 0, is_bound);
}

void CallCells::add_notes(std::vector<std::string>& notes) const {
  if (any_sampled_) notes.emplace_back(kSampledNote);
  if (any_some_) notes.emplace_back(kSomeCallsNote);
}

Error no_such_metric(const profile::Profile& profile, const std::string& wanted) {
  std::string known;
  std::size_t empty = 0;
  for (const profile::Metric& metric : profile.metrics()) {
    if (metric.is_baseline || metric.role == profile::Role::kWaitClass) continue;
    if (analysis::total(profile, metric) == 0) {
      ++empty;
      continue;
    }
    known += (known.empty() ? "" : ", ") + escape(metric.name);
  }
  std::string remedy = known.empty() ? "no metric has a value" : "there are " + known;
  if (empty != 0) remedy += "; --metrics shows those without a value, too";
  // Only a search among all blocks finds the lost ones.
  if (wanted == "lost" || wanted == "lost-blocks") {
    remedy = "fble-prof --memory-profile=exact records it; " + remedy;
  }
  return Error{"", std::nullopt, fmt::format("no metric \"{}\" in this profile", escape(wanted)),
               std::move(remedy)};
}

std::string place_of_waits(const profile::Profile& profile, const profile::Metric& metric) {
  using profile::Role;
  const std::vector<profile::Process>& processes = profile.processes();
  const bool is_recorded = std::any_of(processes.begin(), processes.end(),
                                       [](const auto& process) { return !process.is_imported; });
  if (metric.role != Role::kWallTime || metric.is_baseline || !is_recorded ||
      profile.find_metric(Role::kWaitTime) != nullptr) {
    return {};
  }
  // A thread that only computes is off the processor for moments.
  constexpr std::uint64_t kMoments = 100;
  std::uint64_t on_processor = 0;
  for (const Role role : {Role::kCpuTime, Role::kOwnCost}) {
    if (const profile::Metric* part = profile.find_metric(role)) {
      on_processor = capped_sum(on_processor, analysis::total(profile, *part));
    }
  }
  const std::uint64_t wall = analysis::total(profile, metric);
  if (wall <= on_processor || wall - on_processor <= wall / kMoments) return {};
  return fmt::format(
      "no waits were recorded: {} charges each to what its thread computed next (fble-prof --waits "
      "records them)",
      escape(metric.name));
}

std::string cost_title(const profile::Metric& metric) {
  if (metric.unit == "ns") return "time";
  return metric.role == profile::Role::kCalls ? "all calls" : metric.name;
}

namespace {

// No thread computed while it was recorded by this clock.
bool slept(const Request& request) {
  if (request.metric().role != profile::Role::kCpuTime || request.total != 0) return false;
  const std::vector<profile::Process>& processes = request.runs.processes();
  const analysis::RunFacts run = analysis::run_facts(request.runs, profile::ProcessId());
  return !processes.empty() && run.cpu_ns == 0 && run.calls == 0 &&
         std::all_of(processes.begin(), processes.end(), [](const profile::Process& process) {
           return !process.is_imported && process.clock == profile::Clock::kCpu;
         });
}

}  // namespace

AddedPeaks added_peaks(const Request& request) {
  AddedPeaks peaks;
  const profile::Metric* peak = request.profile().find_metric(transform::kPeakMetric);
  if (peak == nullptr) return peaks;
  for (std::size_t p = 0; p < request.runs.processes().size(); ++p) {
    const profile::ProcessId process(p);
    const std::uint64_t own = analysis::process_total(request.runs, *peak, process);
    if (own == 0) continue;
    ++peaks.profiles;
    if (own > peaks.highest) peaks.of = process;
    peaks.highest = std::max(peaks.highest, own);
  }
  return peaks;
}

std::string few_allocation_samples(const Request& request, const profile::Metric& metric) {
  constexpr std::uint64_t kFew = 10;  // one more or less changes a figure by a tenth
  constexpr std::string_view kCounts[] = {"allocations", "temporary", "live-blocks",
                                          "leaked-blocks", "lost-blocks"};
  const bool is_of_memory =
      metric.unit == "bytes" ||
      std::find(std::begin(kCounts), std::end(kCounts), metric.name) != std::end(kCounts);
  const profile::Metric* samples = request.profile().find_metric(kAllocationSamples);
  if (!is_of_memory || samples == nullptr || !samples->values) return {};
  const auto number = [](std::uint64_t value) {  // of a level, which can fall
    return static_cast<double>(static_cast<std::int64_t>(value));
  };
  std::uint64_t taken = 0;
  double estimated = 0;
  samples->values->each([&](std::size_t node, std::uint64_t count) {
    if (count == 0) return;
    taken += count;
    estimated += number(metric.value(profile::NodeId(node)));
  });
  // The rest was counted exactly.
  const bool is_most = estimated * 2 >= number(analysis::total(request.profile(), metric));
  if (taken == 0 || taken >= kFew || !is_most) return {};
  return fmt::format("{}, too few for reliable figures (--memory-profile=exact counts each block)",
                     counted(taken, "sample"));
}

namespace {

// What the total of a metric of memory is worth.
std::string doubt_about_memory(const Request& request) {
  const std::string few = few_allocation_samples(request, request.metric());
  return few.empty() ? "" : "; from " + few;
}

}  // namespace

std::string kept_line(const Request& request) {
  const std::uint64_t kept = request.costs.total();
  const std::string metric = escape(request.metric().name);
  if (kept == request.total && !request.kept_is_bound) {
    std::string line = fmt::format("{} {} in all", metric, request.amount(request.total));
    if (slept(request)) line += ": it slept; --clock=wall records waits";
    if (request.metric().name == transform::kPeakMetric) {
      const AddedPeaks peaks = added_peaks(request);
      if (peaks.profiles > 1) {
        line += fmt::format(": the sum of {} profiles' peaks, each at its own moment",
                            count(peaks.profiles));
      }
    }
    return line + doubt_about_memory(request);
  }
  return fmt::format("kept {}{} of {} {} ({}); percentages are of what is kept",
                     request.kept_is_bound ? "about " : "", request.amount(kept),
                     request.amount(request.total), metric, percent(kept, request.total)) +
         doubt_about_memory(request);
}

std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes) {
  std::size_t rows = look.top;
  if (rows == 0) rows = look.format == Format::kText && !look.all ? kRowsForPeople : size;
  if (rows >= size) return size;
  notes.push_back(
      fmt::format("… {} more {} (--top N, --all)", count(size - rows), plural(size - rows, "row")));
  return rows;
}

namespace {

bool stands_in(const profile::Profile& profile, const std::vector<std::uint8_t>& matches) {
  const auto& stands = profile.nodes().function;
  return std::any_of(stands.begin(), stands.end(),
                     [&](profile::FunctionId f) { return matches[f.index()] != 0; });
}

// A mistake, or a filter left it out.
Error names_nothing(const Request& request, const std::string& option, const std::string& pattern,
                    const std::string& remedy) {
  if (request.unfiltered != nullptr) {
    const auto matches = transform::match(*request.unfiltered, pattern);
    if (matches && stands_in(*request.unfiltered, *matches)) {
      return Error{"", std::nullopt,
                   fmt::format("{}\"{}\" is on no path that is kept", option, escape(pattern)),
                   "--select, --exclude, --keep and --fold leave it out"};
    }
  }
  return Error{"", std::nullopt,
               fmt::format("{}\"{}\" names no function of this profile", option, escape(pattern)),
               transform::likely_meant(request.profile(), pattern, remedy)};
}

}  // namespace

Result<std::vector<std::uint8_t>> named_functions(const Request& request,
                                                  const std::string& pattern,
                                                  const std::string& option,
                                                  const std::string& remedy) {
  auto matches = transform::match(request.profile(), pattern);
  if (!matches) return matches.error();
  if (stands_in(request.profile(), *matches)) return matches;
  return names_nothing(request, option, pattern, remedy);
}

}  // namespace fbleprof::report
