// Waits and memory: the metrics of one subject side by side, each with its most expensive
// functions. The pages appear if a profile has such metrics.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/costs.h"
#include "analysis/functions.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/web/bodies.h"
#include "report/web/function_names.h"
#include "report/web/html.h"

namespace fbleprof::web {

using namespace profile;

namespace {

constexpr std::size_t kRows = 12;

bool is_of_waits(const Metric& metric) {
  return metric.role == Role::kWaitTime || metric.role == Role::kUnseenTime;
}

// Metrics in bytes, and events that have no other page.
bool is_of_memory(const Metric& metric) {
  return metric.role == Role::kLevel || metric.unit == "bytes" ||
         (metric.role == Role::kEvent && metric.name.find("alloc") != std::string::npos);
}

std::vector<const Metric*> chosen(const Page& page, bool (*is_chosen)(const Metric&)) {
  std::vector<const Metric*> found;
  for (const Metric& metric : page.data.profile().metrics()) {
    if (is_chosen(metric) && !metric.is_baseline && metric.values != nullptr) {
      found.push_back(&metric);
    }
  }
  // Current holders come before allocators.
  std::stable_partition(found.begin(), found.end(),
                        [](const Metric* metric) { return metric->role == Role::kLevel; });
  return found;
}

std::string metric_card(const Page& page, const Metric& metric) {
  const analysis::Costs costs(page.data.profile(), metric);
  auto rows = analysis::function_table(costs);
  const auto put = [&](std::string_view title, bool by_self) {
    const auto key = [&](const analysis::FunctionRow& row) {
      return by_self ? row.self : row.dominated;
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const auto& a, const auto& b) { return key(a) > key(b); });
    std::vector<FunctionId> shown;
    for (std::size_t i = 0; i < rows.size() && i < kRows; ++i) shown.push_back(rows[i].function);
    const FunctionNames names(page, shown, 56);
    Query all = page.query.to_page(by_self ? "self" : "dominated");
    all.metric = metric.name;
    std::string out = fmt::format(
        "<section class=card><h2><a href=\"{}\">{}</a></h2><table "
        "class=data><tbody>",
        page.href(all), title);
    for (std::size_t i = 0; i < shown.size() && key(rows[i]) != 0; ++i) {
      const std::uint64_t cost = key(rows[i]);
      out +=
          fmt::format("<tr{}><td class=\"num share\">{}{}<td class=num>{}<td class=name>{}{}</tr>",
                      names.row(rows[i].function), bar(report::percent_of(cost, costs.total())),
                      report::percent(cost, costs.total()), report::quantity(cost, metric.unit),
                      names.link(rows[i].function), names.buttons(rows[i].function));
    }
    return out + "</tbody></table></section>";
  };
  Query flame = page.query.to_page("flame");
  flame.metric = metric.name;
  std::string out = fmt::format(
      "<h2 class=metric-title>{} <b class=num>{}</b>{} <a href=\"{}\">flame graph</a></h2>"
      "<div class=sides>",
      html_text(report::escape(metric.name)), report::quantity(costs.total(), metric.unit),
      metric.is_estimated ? " <small>estimated from samples</small>" : "", page.href(flame));
  return out + put("Charged to the function itself", true) + put("With all that it calls", false) +
         "</div>";
}

std::string body(const Page& page, bool (*is_chosen)(const Metric&)) {
  std::string out;
  for (const Metric* metric : chosen(page, is_chosen)) out += metric_card(page, *metric);
  return out.empty() ? "<p class=empty>This profile has no such metric.</p>" : out;
}

}  // namespace

bool has_waits(const Page& page) { return !chosen(page, is_of_waits).empty(); }
bool has_memory(const Page& page) { return !chosen(page, is_of_memory).empty(); }

std::string waits_body(const Page& page) { return body(page, is_of_waits); }
std::string memory_body(const Page& page) { return body(page, is_of_memory); }

}  // namespace fbleprof::web
