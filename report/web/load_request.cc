#include "report/web/load_request.h"

#include <fmt/format.h>

#include "report/text/escape.h"
#include "report/web/pages.h"

namespace fbleprof::web {
namespace {

const Base* find_mark(const Site& site, const std::string& name) {
  const Base* base = site.find_base(name);
  return base != nullptr && base->is_mark ? base : nullptr;
}

// "@A..B": a window of the served profile.
Status find_base(const Query& query, const Site& site, LoadRequest& request) {
  if (query.base.starts_with('@')) {
    auto span = transform::parse_span(std::string_view(query.base).substr(1));
    if (!span) return span.error();
    request.base = site.files;
    request.base_window = std::move(*span);
    return std::nullopt;
  }
  const Base* base = site.find_base(query.base);
  if (base == nullptr) {
    return Error{"", std::nullopt, "no such profile to compare with", "/diff lists them"};
  }
  request.base = base->files;
  request.base_state = base->state;
  return std::nullopt;
}

std::string moment_text(const Site& site, const std::string& name) {
  const Base* mark = find_mark(site, name);
  return report::escape(mark != nullptr ? mark->label : name);
}

}  // namespace

Result<LoadRequest> load_request(const Query& query, const Site& site) {
  LoadRequest request;
  request.needs = needs_of(query);
  request.window = {query.from, query.to};
  if (const Base* to = find_mark(site, query.to)) {
    request.files = to->files;
    request.window.to.clear();
  }
  if (const Base* from = find_mark(site, query.from)) {
    request.since = from->files;
    request.window.from.clear();
  }
  if (!query.base.empty()) {
    if (Status bad = find_base(query, site, request)) return *bad;
  }
  return request;
}

std::string window_text(const Query& query, const Site& site) {
  const std::string from = moment_text(site, query.from), to = moment_text(site, query.to);
  if (from.empty() && to.empty()) return {};
  if (to.empty()) return "since " + from;
  return fmt::format("from {} to {}", from.empty() ? "the start" : from, to);
}

std::string base_text(const Query& query, const Site& site) {
  if (const Base* base = site.find_base(query.base)) return report::escape(base->label);
  return report::escape(query.base.substr(query.base.starts_with('@') ? 1 : 0));
}

}  // namespace fbleprof::web
