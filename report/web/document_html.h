// Any view's document as HTML: the page of a view without a page of its own.
#pragma once

#include <functional>
#include <string>

#include "report/views/view.h"
#include "report/web/function_names.h"
#include "report/web/site.h"

namespace fbleprof::web {

struct TableLook {
  std::string_view sort_keys = {};  // sort keys of the view: columns link to them
  std::string_view sorted_by = {};
  // For tables with functions outside the page's profile, such as ones that never ran: they have no
  // pages of their own.
  const report::Names* other_names = nullptr;
  // What stands beside the buttons of a row's function; HTML.
  std::function<std::string(const std::vector<report::Cell>&)> beside_buttons = nullptr;
};

std::string table_html(const Page& page, const report::Table& table, const report::Measure& measure,
                       const TableLook& look = {});
// Notes below a table. A note about hidden rows links to them.
std::string notes_html(const Page& page, const std::vector<std::string>& notes);
std::string document_html(const Page& page, const report::Document& document,
                          const TableLook& look = {});

}  // namespace fbleprof::web
