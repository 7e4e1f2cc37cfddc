// --allocations: the memory that the program allocated, held and leaked: in total, by function, by
// size and by lifetime.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/functions.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/distribution.h"
#include "report/views/phrases.h"
#include "report/views/top_rows.h"
#include "report/views/view.h"

namespace fbleprof::report {

using namespace profile;
using Kind = Column::Kind;

namespace {

// The columns of the table by function, in this order. A profile need not have them all.
struct Figure {
  const char* metric;
  const char* title;
};
constexpr Figure kFigures[] = {{"allocated", "allocated"}, {"allocations", "blocks"},
                               {"peak", "at peak"},        {"live", "live"},
                               {"leaked", "leaked"},       {"lost", "lost"},
                               {"temporary", "temporary"}};

struct Row {
  FunctionId function;
  std::uint64_t values[std::size(kFigures)] = {};
  bool is_estimate = false;  // some of its allocations stand for others
};

std::uint64_t total_of(const Request& request, std::string_view name) {
  const Metric* metric = request.profile().find_metric(name);
  return metric != nullptr ? analysis::total(request.profile(), *metric) : 0;
}

// Each function with its own allocations.
std::vector<Row> rows_of(const Profile& profile) {
  std::vector<Row> rows(profile.functions().count());
  for (std::size_t f = 0; f < rows.size(); ++f) rows[f].function = FunctionId(f);
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    const Metric* metric = profile.find_metric(kFigures[i].metric);
    if (metric == nullptr || !metric->values) continue;
    metric->values->each([&](std::size_t node, std::uint64_t value) {
      rows[profile.nodes().function[node].index()].values[i] += value;
    });
  }
  if (const Metric* samples = profile.find_metric(kAllocationSamples);
      samples != nullptr && samples->values) {
    samples->values->each([&](std::size_t node, std::uint64_t count) {
      if (count != 0) rows[profile.nodes().function[node].index()].is_estimate = true;
    });
  }
  std::erase_if(rows, [](const Row& row) {
    return std::all_of(std::begin(row.values), std::end(row.values),
                       [](std::uint64_t value) { return value == 0; });
  });
  return rows;
}

std::string marked(std::string text, bool is_estimate) { return is_estimate ? "~" + text : text; }

Cell amount_cell(const Request& request, std::uint64_t value, std::string_view unit,
                 bool is_estimate) {
  return shown_as(number_cell(value),
                  value != 0 ? marked(quantity(value, unit, request.look.unit), is_estimate) : "");
}

Table totals(const Request& request) {
  Table table;
  table.key = "totals";
  table.title = "Total";
  table.columns = {{"name", "figure", Kind::kText},
                   {"unit", "", Kind::kText},
                   {"total", "total"},
                   {"", "of all", Kind::kText}};
  const std::uint64_t allocations = total_of(request, "allocations");
  const std::uint64_t allocated = total_of(request, "allocated");
  const bool is_estimate = total_of(request, kAllocationSamples) != 0;
  for (const char* name : {"allocations", "allocated", "frees", "freed", "temporary", "peak",
                           "live-blocks", "live", "leaked-blocks", "leaked", "lost-blocks", "lost",
                           "lifetime", kAllocationSamples, "unrecorded-allocations"}) {
    const Metric* metric = request.profile().find_metric(name);
    if (metric == nullptr) continue;
    const std::uint64_t total = analysis::total(request.profile(), *metric);
    std::string title = name, share;
    std::uint64_t shown = total;
    if (title == "lifetime") {
      // The sum has no meaning by itself; this is the mean lifetime of a block.
      const std::uint64_t frees = total_of(request, "frees");
      title = "mean-lifetime";
      shown = frees != 0 ? total / frees : 0;
    } else if (metric->unit == "bytes") {
      share = percent(total, allocated);
    } else if (title != kAllocationSamples) {
      share = percent(total, allocations);
    }
    table.add({text_cell(title), text_cell(metric->unit),
               shown_as(number_cell(shown),
                        marked(quantity(shown, metric->unit, request.look.unit),
                               is_estimate && shown != 0 && title != kAllocationSamples)),
               text_cell(share)});
  }
  return table;
}

Table functions(const Request& request, std::vector<FunctionId>& named) {
  Table table;
  table.key = "rows";
  table.title = "By the function that allocates";
  // The requested metric, or allocated bytes.
  std::size_t by = 0;
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    if (request.metric().name == kFigures[i].metric) by = i;
  }
  table.columns = {{"name", "name", Kind::kName}};
  for (const Figure& figure : kFigures) {
    std::string key = figure.metric;
    std::replace(key.begin(), key.end(), '-', '_');
    // Without samples of peaks or a search for leaks, such a column is hidden in text.
    const bool is_there = request.profile().find_metric(figure.metric) != nullptr;
    table.columns.push_back({key, is_there ? figure.title : "", Kind::kCount});
  }
  const std::vector<Row> rows = rows_of(request.profile());
  const std::size_t shown = rows_to_show(request.look, rows.size(), table.notes);
  for (const Row& row : top_rows(rows, shown, [by](const Row&a, const Row&b) {
         return a.values[by] != b.values[by] ? a.values[by] > b.values[by]
                                             : a.values[0] > b.values[0];
       })) {
    std::vector<Cell> cells = {name_cell(row.function)};
    for (std::size_t i = 0; i < std::size(kFigures); ++i) {
      const Metric* metric = request.profile().find_metric(kFigures[i].metric);
      cells.push_back(amount_cell(request, row.values[i], metric != nullptr ? metric->unit : "",
                                  row.is_estimate));
    }
    named.push_back(row.function);
    table.add(std::move(cells));
  }
  return table;
}

// How much of the allocated memory and of the peak rests on samples.
struct Sampled {
  std::uint64_t samples = 0;
  double allocated = 0, peak = 0;  // bytes
};

Sampled sampled_part(const Profile& profile) {
  Sampled part;
  const Metric* samples = profile.find_metric(kAllocationSamples);
  if (samples == nullptr || !samples->values) return part;
  const Metric *allocated = profile.find_metric("allocated"), *peak = profile.find_metric("peak");
  samples->values->each([&](std::size_t node, std::uint64_t count) {
    if (count == 0) return;
    part.samples += count;
    if (allocated != nullptr) part.allocated += static_cast<double>(allocated->value(NodeId(node)));
    if (peak != nullptr) part.peak += static_cast<double>(peak->value(NodeId(node)));
  });
  return part;
}

// What the peak is worth. The profile does not say how many samples were live then; each stands for
// as many bytes as those of the whole run do. The peak is where an estimate was highest, which
// chance decides, too: it is too high more often than too low.
std::string peak_note(const Profile& profile, std::uint64_t peak) {
  const Sampled part = sampled_part(profile);
  if (part.peak == 0 || part.allocated == 0 || peak == 0) {
    return "at peak: within 5 % of the most that was in use, but for peaks too short for a copy of "
           "the tree (copies take at most 2 % of the time)";
  }
  const double samples =
      std::max(1.0, part.peak * static_cast<double>(part.samples) / part.allocated);
  const double off_percent = 100 * part.peak / static_cast<double>(peak) / std::sqrt(samples);
  return fmt::format(
      "at peak: the highest estimate, from some {}: off by {:.0f} % by chance at any moment, so "
      "it is too high, many times with few samples (--memory-profile=exact counts each block)",
      counted(static_cast<std::uint64_t>(samples + 0.5), "sample"), off_percent);
}

Result<Document> allocations(const Request& request) {
  Document document = request.document("allocations");
  std::vector<FunctionId> named;
  document.tables.push_back(totals(request));
  document.tables.push_back(functions(request, named));
  document.tables.push_back(distribution(request, "sizes", "By size in bytes", "size-", "blocks"));
  document.tables.push_back(distribution(request, "lifetimes", "By lifetime", "lived-", "blocks"));
  document.flat = document.tables[1];
  if (request.profile().find_metric("allocations") == nullptr) {
    document.notes.push_back(
        "this profile holds no allocations: fble-prof --memory-profile records them");
    return document;
  }
  const std::uint64_t samples = total_of(request, kAllocationSamples);
  if (samples != 0) {
    const std::string few =
        few_allocation_samples(request, *request.profile().find_metric("allocations"));
    document.notes.push_back(
        few.empty() ? fmt::format("~: estimated from {} where code has no hooks; contexts with few "
                                  "are uncertain",
                                  counted(samples, "sample"))
                    : "~: estimated from " + few);
  }
  const Metric* unrecorded = request.profile().find_metric("unrecorded-allocations");
  const bool has_none = request.unfiltered == nullptr && total_of(request, "allocations") == 0 &&
                        total_of(request, "peak") == 0 &&
                        (unrecorded == nullptr || total_of(request, "unrecorded-allocations") == 0);
  if (has_none) {
    document.notes.push_back(
        "nothing was recorded: the program did not call malloc, or has an allocator of its own "
        "(fble-prof --memory-profile=exact,mmap records what that maps)");
  } else if (request.profile().find_metric("peak") != nullptr) {
    document.notes.push_back(peak_note(request.profile(), total_of(request, "peak")));
  }
  if (const AddedPeaks peaks = added_peaks(request); peaks.profiles > 1) {
    document.notes.push_back(fmt::format(
        "at peak: the sum of {} profiles' peaks, each at its own moment: at no moment was more in "
        "use, and at one at least {} ({})",
        count(peaks.profiles), quantity(peaks.highest, "bytes", request.look.unit),
        escape(request.runs.text(request.runs.processes()[peaks.of.index()].file))));
  }
  document.notes.push_back(
      "contexts: --metric allocated, live, peak, leaked with any view (--metrics lists them)");
  if (request.look.format == Format::kText) document.names = document.names.marked(named);
  return document;
}

const Register kAllocations({
    .name = "allocations",
    .help = "memory: what was allocated, by whom, how large, for how long; peak and leaks",
    .manual =
        "What the program allocated (recorded with \\fBfble-prof \\-\\-memory\\-profile\\fR): "
        "totals,\n"
        "the functions that allocate, sizes and lifetimes. \\fIlive\\fR is what is allocated now,\n"
        "\\fIat peak\\fR what was allocated when most was in use (of several profiles the sum of\n"
        "their peaks), \\fIleaked\\fR what was never freed, and \\fIlost\\fR the leaked memory "
        "that\n"
        "no pointer reaches. \\fITemporary\\fR\n"
        "blocks were freed by the next call of the allocator. \\fB\\-\\-metric\\fR sorts the "
        "table\n"
        "by that figure. Other views show contexts with \\fB\\-\\-metric allocated\\fR,\n"
        "\\fBlive\\fR, \\fBpeak\\fR or \\fBleaked\\fR.",
    .topic = View::Topic::kFunctions,
    .limits = "top",
    .has_other_units = true,
    .show = allocations,
});

}  // namespace
}  // namespace fbleprof::report
