// Where to look first: the run, the hottest path, the most expensive functions, unusual facts.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/compact_path.h"
#include "analysis/hot_path.h"
#include "base/at_once.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "report/views/heading.h"
#include "report/web/bodies.h"
#include "report/web/comparison.h"
#include "report/web/function_names.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using namespace profile;
using report::Cell;

namespace {

using Rows = std::vector<std::vector<Cell>>;

// Columns of the document's rows (docs/JSON.md).
enum Place { kSection, kName, kCost, kCalls, kDetail };

Rows section(const report::Document& document, std::string_view name) {
  Rows rows;
  for (const auto& row : document.tables.front().rows()) {
    if (!row[kSection].parts.empty() && row[kSection].parts[0].text == name) rows.push_back(row);
  }
  return rows;
}

FunctionId function_of(const std::vector<Cell>& row) {
  return row[kName].parts.empty() ? FunctionId() : row[kName].parts[0].function;
}

std::string functions_card(const Page& page, const FunctionNames& names, const Rows& rows,
                           std::string_view title, std::string_view hint, const std::string& to) {
  std::string out = fmt::format(
      "<section class=card><h2><a href=\"{}\">{}</a> <small>{}</small></h2>"
      "<table class=data><tbody>",
      page.href(to), title, hint);
  for (const auto& row : rows) {
    const std::uint64_t cost = row[kCost].number.value_or(0);
    const FunctionId function = function_of(row);
    const bool is_bound = !row[kDetail].parts.empty() && !row[kDetail].parts[0].text.empty();
    out += fmt::format(
        "<tr{}><td class=\"num share\">{}{}{}<td class=num>{}<td class=name>{}{}</tr>",
        names.row(function), bar(page.percent(cost)), is_bound ? "≥" : "", page.share(cost),
        page.amount(cost), names.link(function), names.buttons(function));
  }
  return out + "</tbody></table></section>";
}

// Each step with the remaining cost; functions that only call the next one are grey.
std::string hot_card(const Page& page, const FunctionNames& names,
                     const std::vector<NodeId>& path) {
  const Data& data = page.data;
  const Nodes& nodes = data.profile().nodes();
  std::string out =
      "<section class=\"card hot-path\"><h2>Hottest path <small>each step holds at least half of "
      "the one before</small></h2>";
  if (path.empty()) return out + "<p class=note>The cost forks at the root.</p></section>";
  out += "<ol class=steps>";
  constexpr std::size_t kMost = 14;
  const std::size_t skipped = path.size() > kMost ? path.size() - kMost : 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (skipped != 0 && i >= 2 && i < 2 + skipped) {
      if (i == 2) out += fmt::format("<li class=dim>… {} more …</li>", skipped);
      continue;
    }
    const std::uint32_t n = path[i].index();
    const std::uint64_t cost = data.costs().inclusive()[n];
    const bool passes = i != 0 && before != 0 && before - std::min(cost, before) <= before / 50;
    before = cost;
    out += fmt::format("<li{}{}><b class=num>{}</b> {}{}</li>", passes ? " class=passes" : "",
                       names.row(nodes.function[n]), page.share(cost),
                       names.link(nodes.function[n]), names.buttons(nodes.function[n]));
  }
  out += "</ol>";
  const std::uint32_t end = path.back().index();
  std::vector<std::uint32_t> ways;
  for (std::uint32_t c = end + 1; c < nodes.subtree_end[end]; c = nodes.subtree_end[c]) {
    if (data.costs().inclusive()[c] != 0) ways.push_back(c);
  }
  std::stable_sort(ways.begin(), ways.end(), [&](std::uint32_t a, std::uint32_t b) {
    return data.costs().inclusive()[a] > data.costs().inclusive()[b];
  });
  out += "<p class=forks>there: ";
  if (const std::uint64_t own = data.costs().own(path.back()); own != 0) {
    out += fmt::format("<span>itself <b class=num>{}</b></span> ", page.share(own));
  }
  for (std::size_t i = 0; i < ways.size() && i < 4; ++i) {
    out += fmt::format("<span>{} <b class=num>{}</b></span> ", names.link(nodes.function[ways[i]]),
                       page.share(data.costs().inclusive()[ways[i]]));
  }
  if (ways.size() > 4) out += fmt::format("<span>{} more</span>", ways.size() - 4);
  Query tree = page.query.to_page("tree");
  tree.at = node_name(data.node_ids()[end]);
  return out + fmt::format("</p><p class=note><a href=\"{}\">Open it in the tree</a></p></section>",
                           page.href(tree));
}

// What a flame graph leaves out that has little room.
std::string beginning(const Page& page, const FunctionNames& names) {
  const Nodes& nodes = page.data.profile().nodes();
  if (nodes.count() == 0) return {};
  const NodeId start = analysis::start_of_interest(page.data.costs());
  if (!nodes.parent[start.index()]) return {};
  return fmt::format("from {} on, {} calls below the root; ",
                     html_text(names.label(nodes.function[start.index()])),
                     nodes.depth[start.index()] - 1);
}

std::string side_card(const Page& page, const report::Document& document) {
  std::string out;
  const auto put = [&](std::string_view name, std::string_view title, bool has_cost) {
    const Rows rows = section(document, name);
    if (rows.empty()) return;
    std::uint64_t all = 0;
    for (const auto& row : rows) page.data.costs().add(all, row[kCost].number.value_or(0));
    out += fmt::format("<section class=\"card {}\"><h2>{}</h2><ul class=plain>", name, title);
    constexpr std::size_t kMost = 6;
    for (std::size_t i = 0; i < rows.size() && i < kMost; ++i) {
      const std::uint64_t cost = rows[i][kCost].number.value_or(0);
      const std::string detail =
          rows[i][kDetail].parts.empty() ? "" : rows[i][kDetail].parts[0].text;
      out += "<li>";
      if (has_cost) {
        const std::uint64_t whole = name == "thread" ? all : page.data.costs().total();
        out += fmt::format("<b class=num>{}</b> ", report::percent(cost, whole));
      }
      const Cell& cell = rows[i][kName];
      out += html_text(cell.has_raw ? cell.raw : cell.parts.empty() ? "" : cell.parts[0].text);
      if (!detail.empty()) out += fmt::format(" <small>{}</small>", html_text(detail));
      out += "</li>";
    }
    if (rows.size() > kMost)
      out += fmt::format("<li class=dim>… {} more</li>", rows.size() - kMost);
    out += "</ul></section>";
  };
  put("warning", "Warnings", false);
  put("lost", "Lost", false);
  put("recursion", "Recursion", true);
  put("thread", "Threads", true);
  return out;
}

}  // namespace

std::string failure_html(const Error& error) {
  return fmt::format("<p class=\"empty failure\" role=alert>{}</p>",
                     html_text(report::escape(error.line())));
}

std::string overview_body(const Page& page) {
  // What the cards are made of, at the same time.
  const analysis::Costs& costs = page.data.costs();
  std::string flame;
  at_once(page.data.profile().nodes().count(),
          {[&] { costs.tables().cliques(); }, [&] { costs.tables().functions(); },
           [&] { flame = flame_canvas(page, true, comparison(page)); }});
  const auto made = view_document(page, *report::find_view("overview"), "", report::Format::kJson);
  if (!made) return failure_html(made.error());
  const Rows self = section(made->document, "self"),
             dominated = section(made->document, "dominated");
  const std::vector<NodeId> path = analysis::hot_path(page.data.costs());
  const Nodes& nodes = page.data.profile().nodes();
  std::vector<FunctionId> shown;
  for (const auto& row : self) shown.push_back(function_of(row));
  for (const auto& row : dominated) shown.push_back(function_of(row));
  for (const NodeId node : path) shown.push_back(nodes.function[node.index()]);
  if (!path.empty()) {
    const std::uint32_t end = path.back().index();
    for (std::uint32_t c = end + 1; c < nodes.subtree_end[end]; c = nodes.subtree_end[c]) {
      shown.push_back(nodes.function[c]);
    }
  }
  const FunctionNames names(page, shown, 56);

  report::Look look;
  look.width = 0;
  std::string out = "<div class=facts>";
  std::string facts = report::heading(page.data.source().loaded.runs,
                                      page.data.source().loaded.has_sampled_times, look);
  facts.erase(0, facts.find('\n') + 1);  // the title repeats the first line
  out += html_text(facts) + "</div>";
  out += "<div class=cards><section class=\"card wide\"><h2><a href=\"" + page.href("flame") +
         "\">Flame graph</a> <small>" + beginning(page, names) +
         "click to look closer</small></h2>" + flame + "</section>";
  out += hot_card(page, names, path);
  out += functions_card(page, names, self, "Self", "what functions cost themselves", "self");
  out +=
      functions_card(page, names, dominated, "Dominated", "with all that they call", "dominated");
  return out + side_card(page, made->document) + "</div>";
}

}  // namespace fbleprof::web
