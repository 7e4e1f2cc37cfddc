#include "report/web/view_document.h"

#include <fmt/format.h>

#include "report/text/escape.h"
#include "report/text/words.h"

namespace fbleprof::web {

using namespace report;

namespace {

constexpr std::size_t kRows = 100;

}  // namespace

Result<ViewDocument> view_document(const Page& page, const View& view, const std::string& value,
                                   Format format) {
  const Data& data = page.data;
  const Query& query = page.query;
  if (view.check != nullptr) {
    if (const std::string bad = view.check(value); !bad.empty()) {
      return Error{"", std::nullopt, bad, ""};
    }
  }
  if (!view.value.empty() && value.empty()) {
    return Error{"", std::nullopt, fmt::format("/{}: say of what", view.name),
                 fmt::format("/{}/{}", view.name, view.value)};
  }
  auto code = std::make_unique<symbolize::ModuleCode>(data.profile());
  auto request =
      std::make_unique<Request>(Request{.costs = data.costs(), .runs = data.source().loaded.runs});
  request->total = data.total();
  request->base_total = data.base_total();
  request->kept_is_bound = data.kept_is_bound();
  request->look.format = format;
  request->look.width = 0;
  request->look.top = query.rows;
  if (format == Format::kText && query.rows == 0) request->look.top = kRows;
  request->look.all = query.all;
  if (query.min_percent >= 0) request->look.min_percent = query.min_percent;
  request->value = value;
  if (!query.lists.empty()) request->unfiltered = &data.source().loaded.profile;
  request->options = query.options;
  request->normalize = query.normalize;
  request->code = code.get();
  request->moments = data.source().loaded.moments;
  request->has_sampled_times = data.source().loaded.has_sampled_times;
  for (const std::string& remark : data.source().loaded.remarks) {
    request->warnings.push_back(escape(remark));
  }
  if (view.subject == View::Subject::kFiles) request->files = data.source().checks(page.site.files);
  const bool compares = data.base_metric() != nullptr && view.compare != nullptr;
  const std::string_view orders = view.sort_keys_if(compares);
  if (!query.sort.empty() && !orders.empty()) {
    if (!has_word(orders, query.sort)) {
      return Error{"", std::nullopt,
                   fmt::format("sort={}: /{} has no such order", escape(query.sort), view.name),
                   fmt::format("take one of: {}", orders)};
    }
    request->look.sort = query.sort;
  }
  auto document = (compares ? view.compare : view.show)(*request);
  if (!document) return document.error();
  return ViewDocument{std::move(code), std::move(request), std::move(*document)};
}

}  // namespace fbleprof::web
