// The pages to compare, export and search.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "report/exporters/exporter.h"
#include "report/text/escape.h"
#include "report/text/json_writer.h"
#include "report/text/quantity.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/function_names.h"
#include "report/web/html.h"
#include "report/web/load_request.h"
#include "report/web/view_document.h"
#include "transform/matcher.h"

namespace fbleprof::web {

using namespace profile;

namespace {

std::string bases_html(const Page& page) {
  std::string out = "<section class=card><h2>Compare with</h2>";
  if (page.site.bases.empty()) {
    out +=
        "<p>No other profile is known here. Run the program once more: the run before is kept as "
        "<code>mlmon.out.old</code> and offered here. Or name one: <code>fble-prof-report --serve "
        "--diff BASE mlmon.out</code>.</p>";
  }
  out += "<ul class=plain>";
  for (const Base& base : page.site.bases) {
    Query to = page.query.to_page("diff");
    to.base = base.name;
    const bool is_here = page.query.base == base.name;
    out += fmt::format("<li><a class=button href=\"{}\"{}>{}</a></li>", page.href(to),
                       is_here ? " aria-current=true" : "", html_text(report::escape(base.label)));
  }
  out += "</ul>";
  if (page.site.is_live) {
    out +=
        "<form method=post action=\"/mark\"><button class=button>Mark this moment</button> "
        "<small>and compare with it later</small></form>";
  }
  return out + "</section>";
}

}  // namespace

std::string diff_body(const Page& page) {
  if (page.data.base_metric() == nullptr) return bases_html(page);
  Query scaled = page.query, none = page.query.to_page("diff");
  scaled.normalize = !scaled.normalize;
  none.base.clear();
  none.normalize = false;
  Query flame = page.query.to_page("flame"), tree = page.query.to_page("tree");
  std::string out = fmt::format(
      "<p class=actions>against <b>{}</b> <a class=button href=\"{}\">{}</a> <a class=button "
      "href=\"{}\">as a flame graph</a> <a class=button href=\"{}\">as a tree</a> <a class=button "
      "href=\"{}\">stop comparing</a></p>",
      html_text(base_text(page.query, page.site)), page.href(scaled),
      page.query.normalize ? "do not scale" : "scale to the same total", page.href(flame),
      page.href(tree), page.href(none));
  for (const char* name : {"dominated", "self"}) {
    const report::View* view = report::find_view(name);
    const auto made = view_document(page, *view, "", report::Format::kText);
    if (!made) return out + failure_html(made.error());
    TableLook look;
    out += fmt::format("<section class=\"card wide\"><h2>{}</h2>",
                       std::string_view(name) == "self" ? "What functions cost themselves"
                                                        : "What functions cost with all they call");
    out += document_html(page, made->document, look) + "</section>";
  }
  return out + bases_html(page);
}

std::string exports_body(const Page& page) {
  std::string out =
      "<p class=lead>For other tools, with the lists above.</p><table class=data><tbody>";
  for (const report::Exporter& exporter : report::exporters()) {
    out += "<tr><td class=name>";
    if (page.site.is_file) {
      out += fmt::format("<code>fble-prof-report --export {}</code>", exporter.name);
    } else {
      out += fmt::format("<a class=button href=\"{}\" download>{}</a>",
                         page.href("export", std::string(exporter.name)), exporter.name);
    }
    out += fmt::format("<td class=text>{}</tr>", html_text(exporter.description));
  }
  return out + "</tbody></table>";
}

namespace {

constexpr std::size_t kMostFound = 100;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Functions whose names contain the text, ignoring case, or match the pattern; the most expensive
// first.
std::vector<analysis::FunctionRow> found(const Page& page) {
  const Profile& profile = page.data.profile();
  std::vector<analysis::FunctionRow> rows;
  const std::string wanted = lower(page.query.value);
  std::vector<std::uint8_t> matches(profile.functions().count());
  if (auto matched = transform::match(profile, page.query.value)) matches = std::move(*matched);
  for (const analysis::FunctionRow& row : page.data.costs().tables().functions()) {
    const std::string name = lower(display_name(profile, row.function));
    if (matches[row.function.index()] == 0 && name.find(wanted) == std::string::npos) continue;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.dominated > b.dominated; });
  return rows;
}

// The pattern that names these functions and no other; "" = there is none, as if the text is both a
// glob and a part of other names.
std::string pattern_of(const Page& page, const std::vector<analysis::FunctionRow>& rows) {
  const std::string& text = page.query.value;
  std::vector<std::string> patterns{transform::containing(text)};
  if (!transform::is_exact(text)) patterns.insert(patterns.begin(), text);
  for (const std::string& pattern : patterns) {
    const auto matches = transform::match(page.data.profile(), pattern);
    if (matches && std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
          return (*matches)[row.function.index()] != 0;
        })) {
      return pattern;
    }
  }
  return {};
}

FunctionNames names_of(const Page& page, const std::vector<analysis::FunctionRow>& rows) {
  std::vector<FunctionId> functions;
  for (const analysis::FunctionRow& row : rows) functions.push_back(row.function);
  return FunctionNames(page, std::move(functions), 90);
}

}  // namespace

std::string find_body(const Page& page) {
  if (page.query.value.empty()) {
    return "<p class=empty>Type a part of a name, a glob, re:… or module:… into the search field."
           "</p>";
  }
  auto rows = found(page);
  std::string out =
      fmt::format("<p class=lead>{} function{} of “{}”</p>", report::count(rows.size()),
                  rows.size() == 1 ? "" : "s", html_text(report::escape(page.query.value)));
  if (rows.empty()) out += "<p class=empty>None that was seen running.</p>";
  // A pattern can be put on a list as well.
  const bool has_lists = rows.size() > 1 && !page.site.is_file;
  if (const std::string pattern = has_lists ? pattern_of(page, rows) : ""; !pattern.empty()) {
    out += "<p class=actions>all of them: ";
    for (const auto list : {Listed::List::kSelect, Listed::List::kExclude, Listed::List::kFold}) {
      out += fmt::format("<a class=\"button {}\" href=\"{}\">{}</a> ", parameter_of(list),
                         page.href(page.query.to_page("overview").with({list, pattern})),
                         std::string(option_of(list)).substr(2));
    }
    out += "</p>";
  }
  if (rows.size() > kMostFound) rows.resize(kMostFound);
  const FunctionNames names = names_of(page, rows);
  out +=
      "<div class=scroll><table class=data><thead><tr><th scope=col class=num>dominated<th "
      "scope=col class=num>self<th scope=col class=num>calls<th scope=col class=text>name</tr>"
      "</thead><tbody>";
  for (const analysis::FunctionRow& row : rows) {
    out += fmt::format(
        "<tr{}><td class=\"num share\">{}{}<td class=num>{}<td class=num>{}<td class=name>{}{}"
        "</tr>",
        names.row(row.function), bar(page.percent(row.dominated)), page.share(row.dominated),
        page.amount(row.self), page.calls(row.calls, row.is_sampled, row.function),
        names.link(row.function), names.buttons(row.function));
  }
  return out + "</tbody></table></div>";
}

std::string find_json(const Page& page) {
  report::JsonWriter json;
  auto rows = found(page);
  if (rows.size() > kMostFound) rows.resize(kMostFound);
  const FunctionNames names = names_of(page, rows);
  json.StartObject();
  json.member("schema", "fbleprof/1");
  json.member("view", "find");
  json.key("rows");
  json.StartArray();
  for (const analysis::FunctionRow& row : rows) {
    json.StartObject();
    json.member("id", page.data.source().id(row.function));
    json.member("name", names.label(row.function));
    json.member("whole", names.whole(row.function));
    json.member("self", row.self);
    json.member("dominated", row.dominated);
    json.member("calls", row.calls);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.take();
}

}  // namespace fbleprof::web
