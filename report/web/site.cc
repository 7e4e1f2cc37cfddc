#include "report/web/site.h"

#include "report/text/quantity.h"
#include "report/web/html.h"

namespace fbleprof::web {

const Base* Site::find_base(std::string_view name) const {
  for (const Base& base : bases) {
    if (base.name == name) return &base;
  }
  return nullptr;
}

std::string Page::href(const Query& to) const {
  return (site.is_file ? "#" : "") + html_text(url_of(to));
}

std::string Page::href(const std::string& page, const std::string& value) const {
  return href(query.to_page(page, value));
}

std::string Page::amount(std::uint64_t cost) const {
  return report::quantity(cost, data.metric().unit);
}

std::string Page::share(std::uint64_t cost) const {
  return report::percent(cost, data.costs().total());
}

std::string Page::calls(std::uint64_t calls, bool is_sampled) const {
  if (calls != 0) return report::count(calls);
  if (!is_sampled || data.sampled().empty()) return {};
  return "<abbr title=\"no hook: sampled, calls not counted\">·</abbr>";
}

std::string Page::calls(const analysis::VisibleNode& node) const {
  const auto& sampled = data.sampled();
  return calls(node.calls, node.context && !sampled.empty() && sampled[node.context.index()] != 0);
}

double Page::percent(std::uint64_t cost) const {
  return report::percent_of(cost, data.costs().total());
}

}  // namespace fbleprof::web
