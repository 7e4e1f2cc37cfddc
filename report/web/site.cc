#include "report/web/site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/text/quantity.h"
#include "report/views/phrases.h"
#include "report/web/html.h"

namespace fbleprof::web {

const Base* Site::find_base(std::string_view name) const {
  for (const Base& base : bases) {
    if (base.name == name) return &base;
  }
  return nullptr;
}

std::optional<std::string> Site::address_of_metric(const std::string& name) const {
  if (!is_file) return name;
  const auto found = std::find(metrics.begin(), metrics.end(), name);
  if (found == metrics.end()) return std::nullopt;
  return found == metrics.begin() ? std::string() : name;
}

std::string Site::state(std::uint64_t generation) const {
  return fmt::format("{{\"generation\":{},\"live\":{},\"actions\":\"{}\"}}", generation, is_live,
                     fmt::join(actions, " "));
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

std::string Page::calls(std::uint64_t calls, bool is_sampled, profile::FunctionId callee) const {
  if (calls != 0 && report::counts_some_calls(data.profile(), callee)) {
    return fmt::format("<abbr title=\"{}\">≥</abbr>{}", report::kSomeCallsNote,
                       report::count(calls));
  }
  if (calls != 0) return report::count(calls);
  if (!is_sampled || data.sampled().empty()) return {};
  return "<abbr title=\"no hook: sampled, calls not counted\">·</abbr>";
}

std::string Page::calls(const analysis::VisibleNode& node) const {
  const auto& sampled = data.sampled();
  const bool is_sampled = node.context && !sampled.empty() && sampled[node.context.index()] != 0;
  return calls(node.calls, is_sampled, node.function);
}

double Page::percent(std::uint64_t cost) const {
  return report::percent_of(cost, data.costs().total());
}

}  // namespace fbleprof::web
