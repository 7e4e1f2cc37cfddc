#include "report/views/distribution.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/quantity.h"

namespace fbleprof::report {

using namespace profile;
using Kind = Column::Kind;

Table distribution(const Request& request, std::string_view key, std::string_view title,
                   std::string_view prefix, std::string_view counted) {
  Table table;
  table.key = key;
  table.title = title;
  table.columns = {{"class", "class", Kind::kText},
                   {std::string(counted), std::string(counted)},
                   {"", "share", Kind::kText}};
  std::uint64_t all = 0;
  for (const Metric& metric : request.profile().metrics()) {
    if (metric.name.starts_with(prefix)) all += analysis::total(request.profile(), metric);
  }
  for (const Metric& metric : request.profile().metrics()) {
    if (!metric.name.starts_with(prefix)) continue;
    const std::uint64_t count = analysis::total(request.profile(), metric);
    constexpr double kBarColumns = 40;
    const auto columns = static_cast<std::size_t>(percent_of(count, all) * kBarColumns / 100 + 0.5);
    std::string bar;
    for (std::size_t i = 0; i < columns; ++i) bar += "█";
    std::string name = metric.name.substr(prefix.size());
    std::replace(name.begin(), name.end(), '-', ' ');
    table.add({text_cell(name), number_cell(count),
               text_cell(count != 0 ? fmt::format("{:>6} {}", percent(count, all), bar) : "")});
  }
  return table;
}

}  // namespace fbleprof::report
