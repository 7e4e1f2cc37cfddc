#include "report/web/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"
#include "report/web/bodies.h"
#include "report/web/document_html.h"
#include "report/web/html.h"
#include "report/web/view_document.h"

namespace fbleprof::web {

using report::View;

namespace {

bool has_recursion(const Page& page) {
  const auto& edges = page.data.profile().edges();
  return std::find(edges.kind.begin(), edges.kind.end(), profile::EdgeKind::kBack) !=
         edges.kind.end();
}

bool has_threads(const Page& page) { return page.data.source().loaded.runs.threads().size() > 1; }

bool has_windows(const Page& page) { return !page.data.source().loaded.moments.empty(); }

// Other names that users know for these addresses.
struct Alias {
  std::string_view page, view, value;
};
constexpr Alias kAliases[] = {{"modules", "by", "module"},       {"files", "by", "file"},
                              {"namespaces", "by", "namespace"}, {"classes", "by", "class"},
                              {"source", "annotate", ""},        {"memory", "allocations", ""}};

}  // namespace

const std::vector<PageKind>& page_kinds() {
  static const std::vector<PageKind> all = {
      {"overview", "Overview", "o", "overview", overview_body},
      {"flame", "Flame graph", "f", "", flame_body},
      {"tree", "Tree", "t", "tree", tree_body},
      {"self", "Self", "s", "self", nullptr},
      {"dominated", "Dominated", "d", "dominated", nullptr},
      {"edges", "Calls", "e", "edges", edges_body},
      {"cliques", "Recursion", "r", "cliques", cliques_body, has_recursion},
      {"modules", "Modules", "m", "by", nullptr},
      {"threads", "Threads", "h", "threads", threads_body, has_threads},
      {"waits", "Waits", "w", "waits", waits_body, has_waits},
      {"memory", "Memory", "", "allocations", memory_body, has_memory},
      {"windows", "Windows", "", "windows", windows_body, has_windows},
      {"diff", "Compare", "x", "", diff_body},
      {"exports", "Export", "", "", exports_body},
      {"block", "Function", "", "block", block_body, nullptr, false},
      {"path", "Path", "", "path", path_body, nullptr, false},
      {"source", "Source", "", "annotate", source_body, nullptr, false},
      {"find", "Find", "", "", find_body, nullptr, false},
  };
  return all;
}

bool is_in_menu(const PageKind& kind, const Page& page) {
  if (!kind.in_menu || (page.site.is_file && kind.name == "diff")) return false;
  return kind.is_useful == nullptr || kind.is_useful(page);
}

const PageKind* find_page(std::string_view name) {
  for (const PageKind& kind : page_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::pair<const View*, std::string> view_of(const Query& query) {
  for (const Alias& alias : kAliases) {
    if (alias.page != query.page) continue;
    return {report::find_view(alias.view),
            alias.value.empty() ? query.value : std::string(alias.value)};
  }
  // In comparisons the tables show changes.
  std::string_view name = query.page;
  if (name == "diff") name = "dominated";
  if (name == "flame") name = "tree";
  const View* view = report::find_view(name);
  if (view == nullptr || view->print != nullptr) return {nullptr, {}};
  std::string value = query.value;
  if (value.empty()) value = view->implied;
  return {view, std::move(value)};
}

report::Needs needs_of(const Query& query) {
  const auto [view, value] = view_of(query);
  report::Needs needs;
  if (view != nullptr && view->needs != nullptr) needs = view->needs(value);
  const transform::Split by_thread{profile::Axis::kThread, ""};
  const auto& known = needs.splits;
  if (!query.thread.empty() && std::find(known.begin(), known.end(), by_thread) == known.end()) {
    needs.splits.push_back(by_thread);
  }
  return needs;
}

Result<std::string> page_body(const Page& page) {
  const PageKind* kind = find_page(page.query.page);
  return kind != nullptr && kind->body != nullptr ? kind->body(page) : registered_body(page);
}

Result<std::string> registered_body(const Page& page) {
  const auto [view, value] = view_of(page.query);
  if (view == nullptr) {
    return Error{"", std::nullopt,
                 fmt::format("there is no page /{}", report::escape(page.query.page)), ""};
  }
  auto made = view_document(page, *view, value, report::Format::kText);
  if (!made) return made.error();
  TableLook look;
  look.sort_keys =
      view->sort_keys_if(page.data.base_metric() != nullptr && view->compare != nullptr);
  look.sorted_by = page.query.sort.empty() ? view->name : std::string_view(page.query.sort);
  if (page.query.sort.empty() && (view->name == "edges" || view->name == "call-sites")) {
    look.sorted_by = "cost";
  }
  std::string out = fmt::format("<p class=lead>{}</p>", html_text(view->help));
  return out + document_html(page, made->document, look);
}

Result<std::string> page_json(const Page& page) {
  if (page.query.page == "flame") {
    if (std::string why = why_no_flame(page); !why.empty()) return Error{"", std::nullopt, why, ""};
    return flame_json(page);
  }
  if (page.query.page == "find") return find_json(page);
  const auto [view, value] = view_of(page.query);
  if (view == nullptr) {
    return Error{"", std::nullopt, fmt::format("/{} has no JSON", report::escape(page.query.page)),
                 ""};
  }
  auto made = view_document(page, *view, value, report::Format::kJson);
  if (!made) return made.error();
  report::Look look;
  look.format = report::Format::kJson;
  return report::render(made->document, look);
}

std::string page_title(const Page& page) {
  std::string name = page.query.page;
  if (const PageKind* kind = find_page(page.query.page)) {
    name = kind->title;
  } else if (const auto [view, value] = view_of(page.query); view != nullptr) {
    name = value.empty() || value == view->implied ? std::string(view->name)
                                                   : fmt::format("{} {}", view->name, value);
  }
  if (const profile::FunctionId function = page.data.source().function(page.query.value)) {
    const std::string whole = report::whole_name(page.data.source().loaded.profile, function);
    name = report::cut(whole, 80);
  }
  return report::escape(name);
}

}  // namespace fbleprof::web
