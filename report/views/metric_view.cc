// --metrics: the profile's metrics, with the names that --metric takes.
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/views/view.h"

namespace fbleprof::report {

using Kind = Column::Kind;

namespace {

const char* name_of(const profile::Metric& metric) {
  using profile::Role;
  switch (metric.role) {
    case Role::kAmount:
      return "amount";
    case Role::kCpuTime:
      return "CPU time";
    case Role::kWallTime:
      return metric.name == "time" ? "CPU time and waits"
                                   : "elapsed time, less the cost of profiling";
    case Role::kWaitTime:
      return "waiting time";
    case Role::kUnseenTime:
      return "unseen time";
    case Role::kCalls:
      return "calls";
    case Role::kSamples:
      return "samples";
    case Role::kOwnCost:
      return "cost of profiling";
    case Role::kVirtualTime:
      return "virtual time";
    case Role::kEvent:
      return "how often";
    case Role::kLevel:
      return "level";
    case Role::kWaits:
      return "waits";
    case Role::kLongestWait:
      return "longest wait";
    case Role::kWaitClass:
      return "waits of one length";
    case Role::kEventWait:
      return "waits for a next event";
    case Role::kPeerWait:
      return "waits for another thread or process";
    case Role::kCausedWait:
      return "how long others waited for this";
    case Role::kReadyTime:
      return "time ready to run";
  }
  return "amount";
}

Result<Document> metrics(const Request& request) {
  Document document("metrics", request.names());
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"name", "name", Kind::kText},
                   {"unit", "", Kind::kText},
                   {"role", "measures", Kind::kText},
                   {"total", "total"},
                   {"shown", "", Kind::kFlag}};
  for (const profile::Metric& metric : request.profile().metrics()) {
    const std::uint64_t total = analysis::total(request.profile(), metric);
    const std::string amount = quantity(total, metric.unit, request.look.unit);
    table.add({text_cell(metric.name), text_cell(metric.unit), text_cell(name_of(metric)),
               shown_as(number_cell(total), amount), flag_cell(&metric == &request.metric())});
  }
  for (const profile::Metric& metric : request.profile().metrics()) {
    if (std::string note = place_of_waits(request.profile(), metric); !note.empty()) {
      table.notes.push_back(std::move(note));
    }
  }
  return document;
}

const Register kMetrics({
    .name = "metrics",
    .help = "what was measured, with totals: the names that --metric takes",
    .topic = View::Topic::kOverview,
    .has_other_units = true,
    .show = metrics,
});

}  // namespace
}  // namespace fbleprof::report
