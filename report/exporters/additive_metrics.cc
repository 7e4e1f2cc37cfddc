#include "report/exporters/additive_metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/escape.h"

namespace fbleprof::report {

using namespace profile;

std::vector<const Metric*> additive_metrics(const Export& input) {
  std::vector<const Metric*> metrics;
  for (const Metric& metric : input.profile.metrics()) {
    if (metric.aggregation == Aggregation::kSum) metrics.push_back(&metric);
  }
  const auto chosen = std::find(metrics.begin(), metrics.end(), &input.metric);
  if (chosen != metrics.end()) std::rotate(metrics.begin(), chosen, chosen + 1);
  return metrics;
}

std::string why_not_additive(const Metric& metric, std::string_view what) {
  if (metric.aggregation == Aggregation::kSum) return {};
  return fmt::format("{} adds values up, and those of \"{}\" are no sums", what,
                     escape(metric.name));
}

Status check_additive(const Export& input, std::string_view format) {
  std::string why = why_not_additive(input.metric, format);
  if (why.empty()) return std::nullopt;
  return Error{"", std::nullopt, std::move(why), "choose another --metric, or export json or csv"};
}

}  // namespace fbleprof::report
