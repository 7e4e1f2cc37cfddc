// Waits and memory: the metrics of one subject side by side, each with its most expensive
// functions, below the view of the same subject. The pages appear if a profile has such metrics.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/costs.h"
#include "analysis/functions.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/function_names.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using namespace profile;

namespace {

constexpr std::size_t kRows = 12;

bool is_of_waits(const Metric& metric) {
  return metric.role == Role::kWaitTime || metric.role == Role::kUnseenTime ||
         metric.role == Role::kCausedWait || metric.role == Role::kReadyTime;
}

// Metrics in bytes, and events that have no other page.
bool is_of_memory(const Metric& metric) {
  return metric.role == Role::kLevel || metric.unit == "bytes" ||
         (metric.role == Role::kEvent && metric.name.find("alloc") != std::string::npos);
}

// The recorder's metrics that get a card of their own, in this order, with what they say.
struct Told {
  std::string_view metric, text;
};
constexpr Told kTold[] = {
    {"wait", "in calls that block"},
    {"held", "others waited for a lock that was held here"},
    {"woke", "others waited until they were woken here"},
    {"unseen", "off the processor, in no known call: waiting for a processor or a page"},
    {"preempted", "ready to run, while others had the processor"},
    {"peak", "in use when most was"},
    {"leaked", "never freed"},
    {"lost", "leaked, and reachable from nowhere"},
    {"live", "not freed yet"},
    {"allocated", "in all, freed or not"},
    {"allocations", "how often"}};

std::size_t rank(const Metric& metric) {
  const auto* found = std::find_if(std::begin(kTold), std::end(kTold),
                                   [&](const Told& told) { return told.metric == metric.name; });
  return static_cast<std::size_t>(found - std::begin(kTold));
}

// Counts and sums that the view above the cards shows.
bool is_in_the_view(const Metric& metric) {
  const std::string_view name = metric.name;
  return name.starts_with("free") || name.ends_with("-blocks") || name == "allocation-samples" ||
         name == "unrecorded-allocations" || name.starts_with("bytes-");
}

std::vector<const Metric*> chosen(const Page& page, bool (*is_chosen)(const Metric&)) {
  std::vector<const Metric*> found;
  for (const Metric& metric : page.data.profile().metrics()) {
    if (is_chosen(metric) && !metric.is_baseline && metric.values != nullptr) {
      found.push_back(&metric);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Metric* a, const Metric* b) { return rank(*a) < rank(*b); });
  return found;
}

// A link to a page of another metric; only its text if there is none.
std::string link_to(const Page& page, const std::string& to, const Metric& metric,
                    std::string_view text) {
  const auto address = page.site.address_of_metric(metric.name);
  if (!address) return std::string(text);
  Query query = page.query.to_page(to);
  query.metric = *address;
  return fmt::format("<a href=\"{}\">{}</a>", page.href(query), text);
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
    std::string out = fmt::format("<section class=card><h2>{}</h2><table class=data><tbody>",
                                  link_to(page, by_self ? "self" : "dominated", metric, title));
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
  const bool has_pages = page.site.address_of_metric(metric.name).has_value();
  const std::size_t told = rank(metric);
  std::string out = fmt::format(
      "<h2 class=metric-title>{} <b class=num>{}</b> <small>{}{}</small> {}</h2><div class=sides>",
      html_text(report::escape(metric.name)), report::quantity(costs.total(), metric.unit),
      told == std::size(kTold) ? "" : kTold[told].text,
      metric.is_estimated ? "; estimated from samples" : "",
      has_pages ? link_to(page, "flame", metric, "flame graph") : "");
  return out + put("Charged to the function itself", true) + put("With all that it calls", false) +
         "</div>";
}

// What the view of the command line says, then a card for each metric that has a value. An
// imported profile has metrics, but not those of the view.
std::string body(const Page& page, bool (*is_chosen)(const Metric&), std::string_view view_name) {
  const std::vector<const Metric*> metrics = chosen(page, is_chosen);
  if (metrics.empty()) return "<p class=empty>This profile has no such metric.</p>";
  std::string out;
  if (rank(*metrics.front()) < std::size(kTold)) {
    const auto made = view_document(page, *report::find_view(view_name), "", report::Format::kText);
    out += made ? "<section class=\"card facts-card\">" + document_html(page, made->document) +
                      "</section>"
                : failure_html(made.error());
  }
  std::string cards;
  for (const Metric* metric : metrics) {
    if (is_in_the_view(*metric)) continue;
    if (analysis::total(page.data.profile(), *metric) == 0) continue;
    cards += metric_card(page, *metric);
  }
  return out + cards;
}

}  // namespace

bool has_waits(const Page& page) { return !chosen(page, is_of_waits).empty(); }
bool has_memory(const Page& page) { return !chosen(page, is_of_memory).empty(); }

std::string waits_body(const Page& page) { return body(page, is_of_waits, "waits"); }
std::string memory_body(const Page& page) { return body(page, is_of_memory, "allocations"); }

}  // namespace fbleprof::web
