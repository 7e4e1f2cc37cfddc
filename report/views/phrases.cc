#include "report/views/phrases.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/sampled.h"
#include "report/text/escape.h"
#include "report/text/quantity.h"
#include "transform/matcher.h"
#include "transform/suggest.h"

namespace fbleprof::report {

namespace {
constexpr std::size_t kRowsForPeople = 40;
}  // namespace

CallCells::CallCells(const profile::Profile& profile)
    : any_counted_(analysis::has_counted_calls(profile)) {}

Cell CallCells::operator()(std::uint64_t calls, bool is_sampled) {
  Cell cell = number_cell(calls);
  if (!is_sampled || !any_counted_) return cell;
  any_sampled_ = true;
  return shown_as(cell, "·");
}

std::string kept_line(const Request& request) {
  const std::uint64_t kept = request.costs.total();
  const std::string metric = escape(request.metric().name);
  if (kept == request.total && !request.kept_is_bound) {
    return fmt::format("{} {} in all", metric, request.amount(request.total));
  }
  return fmt::format("kept {}{} of {} {} ({}); percentages are of what is kept",
                     request.kept_is_bound ? "about " : "", request.amount(kept),
                     request.amount(request.total), metric, percent(kept, request.total));
}

std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes) {
  std::size_t rows = look.top;
  if (rows == 0) rows = look.format == Format::kText && !look.all ? kRowsForPeople : size;
  if (rows >= size) return size;
  notes.push_back(
      fmt::format("… {} more {} (--top N, --all)", count(size - rows), plural(size - rows, "row")));
  return rows;
}

Result<std::vector<std::uint8_t>> named_functions(const Request& request,
                                                  const std::string& pattern) {
  auto matches = transform::match(request.profile(), pattern);
  if (!matches) return matches.error();
  const auto& stands = request.profile().nodes().function;
  if (std::any_of(stands.begin(), stands.end(),
                  [&](profile::FunctionId f) { return (*matches)[f.index()] != 0; })) {
    return matches;
  }
  return Error{"", std::nullopt,
               fmt::format("\"{}\" names no function of this profile", escape(pattern)),
               transform::likely_meant(request.profile(), pattern,
                                       "see --self for the names; globs and re:... work, too")};
}

}  // namespace fbleprof::report
