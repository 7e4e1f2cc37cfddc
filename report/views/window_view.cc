// --windows: the moments of snapshots, and what was added between them.
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/view.h"
#include "transform/window.h"

namespace fbleprof::report {

using transform::Moment;
using Kind = Column::Kind;

namespace {

const char* reason_of(const Moment& moment) {
  using Reason = profile::SnapshotReason;
  switch (moment.reason) {
    case Reason::kAsked:
      return "asked";
    case Reason::kPeriod:
      return "period";
    case Reason::kPeak:
      return "peak";
    case Reason::kReset:
      return "reset";
  }
  return "asked";
}

std::uint64_t total_of(const Moment& moment, const std::string& metric) {
  for (const profile::MetricTotal& total : moment.totals) {
    if (total.metric == metric) return total.value;
  }
  return 0;
}

Needs needs_of_moments(const std::string&) {
  Needs needs;
  needs.moments = true;
  return needs;
}

Result<Document> windows(const Request& request) {
  Document document = request.document("windows");
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  const bool has_files =
      !request.moments.empty() && request.moments.front().file != request.moments.back().file;
  table.columns = {{"number", "#", Kind::kNumber},
                   {"time_ns", "at", Kind::kTime},
                   {"added", "added", Kind::kCost},
                   {"so_far", "so far", Kind::kCost},
                   {"reason", "reason", Kind::kText},
                   {"name", "name", Kind::kText},
                   {"file", has_files ? "file" : "", Kind::kText}};
  const profile::Metric& metric = request.metric();
  const bool adds_up = transform::adds_up(metric);
  std::uint64_t before = 0;
  std::string file;
  std::uint32_t number = 0;
  for (const Moment& moment : request.moments) {
    // A file may be given twice.
    if (moment.file != file || moment.number <= number) before = 0;
    file = moment.file;
    number = moment.number;
    const std::uint64_t so_far = total_of(moment, metric.name);
    const std::uint64_t added = adds_up && so_far >= before ? so_far - before : 0;
    before = so_far;
    const Cell cell = number_cell(added);
    table.add({number_cell(moment.number), number_cell(moment.time_ns),
               adds_up ? cell : shown_as(cell, ""), number_cell(so_far),
               text_cell(reason_of(moment)), text_cell(moment.name), text_cell(moment.file)});
  }
  if (request.moments.empty()) {
    document.notes.emplace_back("no snapshots: nothing was taken down while the program ran");
  } else if (metric.role == profile::Role::kWallTime || metric.role == profile::Role::kWaitTime) {
    document.notes.emplace_back("a wait is added as a whole where it ends");
  }
  return document;
}

const Register kWindows({
    .name = "windows",
    .help = "the snapshots of the files, and what was added from each to the next: for --window",
    .manual =
        "A row a snapshot: its number, its time since the start of the profile, what the metric\n"
        "had added since the snapshot before and what it held in all, why it was taken and under\n"
        "which name.\n"
        "A wait is added as a whole where it ends.\n"
        ".B \\-\\-window\n"
        "and\n"
        ".B \\-\\-diff \\(atA..B\n"
        "take names and numbers.",
    .topic = View::Topic::kRuns,
    .subject = View::Subject::kWholeTree,
    .has_other_units = true,
    .needs = needs_of_moments,
    .show = windows,
});

}  // namespace
}  // namespace fbleprof::report
