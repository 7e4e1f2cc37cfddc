// Windows: the moments of snapshots, what was added between them, and links to a part of the run,
// alone or compared with another.
#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/web/bodies.h"
#include "report/web/html.h"

namespace fbleprof::web {

using transform::Moment;

namespace {

// The metric's total at a moment, and its increase since the previous one.
struct Part {
  const Moment* begin;  // null: the start
  const Moment* end;    // null: the end
  std::uint64_t cost = 0;
};

std::uint64_t total_at(const Moment& moment, const std::string& metric) {
  const auto it = std::find_if(moment.totals.begin(), moment.totals.end(),
                               [&](const auto& total) { return total.metric == metric; });
  return it == moment.totals.end() ? 0 : it->value;
}

std::vector<Part> parts_of(const Page& page) {
  const auto& moments = page.data.source().loaded.moments;
  const std::string& metric = page.data.metric().name;
  std::vector<Part> parts;
  std::uint64_t before = 0;
  const Moment* begin = nullptr;
  for (const Moment& moment : moments) {
    const std::uint64_t now = total_at(moment, metric);
    parts.push_back({begin, &moment, now - std::min(now, before)});
    before = now;
    begin = &moment;
  }
  // Only the profile of the whole run has the totals at its end.
  if (page.query.from.empty() && page.query.to.empty()) {
    parts.push_back({begin, nullptr, page.data.total() - std::min(page.data.total(), before)});
  }
  return parts;
}

std::string number_text(const Moment* moment) {
  return moment == nullptr ? "" : fmt::format("#{}", moment->number);
}

std::string moment_html(const Moment* moment, std::string_view otherwise) {
  if (moment == nullptr) return std::string(otherwise);
  std::string text = number_text(moment);
  if (!moment->name.empty()) text += " " + report::escape(moment->name);
  if (moment->reason == profile::SnapshotReason::kPeak) text += " (peak)";
  return fmt::format("{} <small>{}</small>", html_text(text),
                     report::quantity(moment->time_ns, "ns"));
}

std::string links(const Page& page, const std::vector<Part>& parts, std::size_t i) {
  const auto link = [&](const Query& to, std::string_view text) {
    return fmt::format("<a class=button href=\"{}\">{}</a> ", page.href(to), text);
  };
  Query only = page.query.to_page("overview");
  only.from = number_text(parts[i].begin);
  only.to = number_text(parts[i].end);
  std::string out = link(only, "only this");
  if (parts[i].end != nullptr) {
    Query since = only;
    since.from = only.to;
    since.to.clear();
    out += link(since, "what came after");
  }
  if (i > 0) {
    Query compared = only;
    compared.page = "diff";
    compared.base =
        fmt::format("@{}..{}", number_text(parts[i - 1].begin), number_text(parts[i - 1].end));
    out += link(compared, "compare with the one before");
  }
  return out;
}

}  // namespace

std::string windows_body(const Page& page) {
  const auto& moments = page.data.source().loaded.moments;
  if (moments.empty()) {
    return "<p class=empty>Nothing was taken down while the program ran: there are no snapshots. "
           "Of a program that runs, <b>since now</b> above shows what is added from a moment on."
           "</p>";
  }
  if (moments.front().file != moments.back().file) {
    return "<p class=empty>Windows are of one profile: serve it alone.</p>";
  }
  const std::vector<Part> parts = parts_of(page);
  std::uint64_t most = 0;
  for (const Part& part : parts) most = std::max(most, part.cost);
  std::string out = fmt::format(
      "<p class=lead>Snapshots divide the run. {} of each part:</p><div class=scroll><table "
      "class=data><thead><tr><th scope=col class=num>{}<th scope=col class=text>from<th scope=col "
      "class=text>to<th scope=col class=text>show</tr></thead><tbody>",
      html_text(report::escape(page.data.metric().name)),
      html_text(report::escape(page.data.metric().name)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out += fmt::format(
        "<tr><td class=\"num share\">{}{}<td class=text>{}<td class=text>{}<td "
        "class=text>{}</tr>",
        bar(report::percent_of(parts[i].cost, most)), page.amount(parts[i].cost),
        moment_html(parts[i].begin, "start"),
        moment_html(parts[i].end, page.site.is_live ? "now" : "end"), links(page, parts, i));
  }
  return out + "</tbody></table></div>";
}

}  // namespace fbleprof::web
