// All pages: those written for a browser, and one for each view of the registry.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/views/view.h"
#include "report/web/site.h"

namespace fbleprof::web {

// A page written for a browser. It shows more than the text of its view.
struct PageKind {
  std::string_view name;
  std::string_view title;
  std::string_view key;   // of the keyboard; "" = none
  std::string_view view;  // the view of its command line and JSON; "" = none
  std::string (*body)(const Page&);
  // Whether the menu lists it; null: always.
  bool (*is_useful)(const Page&) = nullptr;
  bool in_menu = true;
};
const std::vector<PageKind>& page_kinds();
// Whether the menu lists it on `page`. A file has nothing to compare with.
bool is_in_menu(const PageKind& kind, const Page& page);
const PageKind* find_page(std::string_view name);

// A page's view, and its value. Null: there is none.
std::pair<const report::View*, std::string> view_of(const Query& query);

// The source that it needs.
report::Needs needs_of(const Query& query);

// The body of the page as HTML, or the reason why it cannot be made.
Result<std::string> page_body(const Page& page);
// The same of a page that shows its view's document and nothing else.
Result<std::string> registered_body(const Page& page);
// Its document as JSON.
Result<std::string> page_json(const Page& page);
// The page's title.
std::string page_title(const Page& page);

// Hidden fields that keep the query in forms with GET, except one parameter; without "page", only
// the state that other pages share.
std::string hidden_inputs(const Query& query, std::string_view without);

// A page around a body: head, menu, lists, command line.
std::string whole_page(const Page& page, const std::string& body);

}  // namespace fbleprof::web
